import type { Family } from './simulated-models.ts';

export interface Runnable {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** A program that runs one client through the cases. */
export interface InstalledClient extends Runnable {
  /** The client and its version. */
  readonly name: string;
  /** The dialect of the models behind it. */
  readonly family: Family;
  /** Cases that this client does not support. */
  readonly lacks?: readonly string[];
  /** Additional cases that few clients support. */
  readonly also?: readonly string[];
}

/** Tests of a single client, or a framework's own tests of a model: one line of JSON for each. */
export interface OwnTests extends Runnable {
  readonly name: string;
  /** What they test. */
  readonly call: string;
  readonly family: Family;
}

export interface InstalledLanguage {
  readonly clients: readonly InstalledClient[];
  readonly ownTests?: readonly OwnTests[];
  /** Every snippet of the language's page, as one program. Frameworks have none. */
  readonly guide?: Runnable;
}

export interface Language {
  readonly name: string;
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[];
  /** Installs packages into the cache and compiles into the empty folder. Throws NotInstalled when a package is not available. */
  install(cache: string, folder: string): Promise<InstalledLanguage>;
}
