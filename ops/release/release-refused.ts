/** A release that would not be what it says. The message is one line; nothing was changed. */
export class ReleaseRefused extends Error {
  override readonly name = 'ReleaseRefused';
}
