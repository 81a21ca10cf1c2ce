/** A release that was refused because it would be inconsistent. The message is one line; nothing was changed. */
export class ReleaseRefused extends Error {
  override readonly name = 'ReleaseRefused';
}
