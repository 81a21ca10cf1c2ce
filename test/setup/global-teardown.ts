import './global-setup.ts';

/** Stops the servers that global-setup.ts started and removes their files. */
export default async function globalTeardown(): Promise<void> {
  await globalThis.tollgateTestServices?.stop();
  globalThis.tollgateTestServices = undefined;
}
