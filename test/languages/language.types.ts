import type { Family } from './simulated-models.ts';

export interface Runnable {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** A program that puts one client through the cases. */
export interface InstalledClient extends Runnable {
  /** The client and its version. */
  readonly name: string;
  /** Whose dialect the models behind it speak. */
  readonly family: Family;
  /** Cases that this client has no way to do. */
  readonly lacks?: readonly string[];
  /** Cases that few clients have. */
  readonly also?: readonly string[];
}

/** What only one client does, or a framework's own tests of a model: one line of JSON for each. */
export interface OwnTests extends Runnable {
  readonly name: string;
  /** What they try. */
  readonly call: string;
  readonly family: Family;
}

export interface InstalledLanguage {
  readonly clients: readonly InstalledClient[];
  readonly ownTests?: readonly OwnTests[];
  /** Every snippet of the language's page, as one program; a framework has none. */
  readonly guide?: Runnable;
}

export interface Language {
  readonly name: string;
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[];
  /** Installs packages into the cache and compiles into the folder, which is empty. Throws NotInstalled when a package is not to be had. */
  install(cache: string, folder: string): Promise<InstalledLanguage>;
}
