import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { Catalog } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import { type ParsedCatalog, readCatalog } from './parse-catalog.ts';

const WATCH_INTERVAL_MS = 1_000;

export interface CatalogSourceOptions {
  /** Path of tollgate.yaml. */
  readonly file: string;
  /** The variables that `${NAME}` in the file refers to. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Finds mistakes that the file alone does not show. */
  readonly check: CatalogCheck;
  /** Returns the paths of further files that belong to a catalog: a change to one is a change to the catalog. */
  readonly filesOf: (catalog: Catalog) => readonly string[];
  /** Runs before a catalog takes effect. If it rejects, the catalog does not take effect. `name` identifies the catalog's text. */
  readonly prepare: (catalog: Catalog, name: string) => Promise<void>;
  readonly log: Logger;
}

type PerFile = Catalog['engineFiles'];

/** Returns in one line what is wrong with a catalog; undefined if nothing is. */
export type CatalogCheck = (catalog: Catalog) => string | undefined;

/** Holds the catalog in force and reloads it when the file changes. A catalog with a mistake never replaces a good one. */
export class CatalogSource {
  readonly #options: CatalogSourceOptions;
  readonly #listeners: ((catalog: Catalog) => void)[] = [];
  readonly #checks: CatalogCheck[] = [];
  /** State of each watched file at the last poll, taken before the file was read. */
  #states: PerFile = {};
  #watch: Loop | undefined;
  /** Paths of the files that the catalog's engines refer to, as of the last text that could be parsed. */
  #engineFiles: readonly string[];
  #current: Catalog;
  /** Digest of the catalog in force, as {@link ParsedCatalog} has it. */
  #digest: string;
  #reloading: Promise<boolean> = Promise.resolve(false);

  private constructor(options: CatalogSourceOptions, { catalog, digest }: ParsedCatalog) {
    this.#options = options;
    this.#digest = digest;
    this.#current = catalog;
    this.#engineFiles = Object.keys(catalog.engineFiles);
  }

  /** Reads the file for the first time. Throws CatalogError, or whatever `prepare` throws. */
  static async open(options: CatalogSourceOptions): Promise<CatalogSource> {
    const text = await readCatalogText(options.file);
    const { catalog, digest } = await readWithFiles(text, options);
    const source = new CatalogSource(options, { catalog, digest });
    source.addCheck(options.check);
    await options.prepare(catalog, nameOf(options.file, text));
    return source;
  }

  get current(): Catalog {
    return this.#current;
  }

  /**
   * Applies a check to the catalog in force and to every later one. Throws CatalogError if the current one fails it; a later one that fails
   * does not take effect.
   */
  addCheck(check: CatalogCheck): void {
    this.#pass(check, this.#current);
    this.#checks.push(check);
  }

  /** Calls `listener` with every catalog that takes effect later. */
  onChange(listener: (catalog: Catalog) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Polls the file and those its engines refer to every `everyMs` ms (a second by default). Polls because editors and orchestrators replace
   * files rather than write to them. The first poll reads them all: they may have changed since the catalog was opened.
   */
  watch(everyMs = WATCH_INTERVAL_MS): void {
    this.#watch = every(everyMs, () => this.#look());
  }

  /** Reads the file again, one reload at a time. Resolves to whether a new catalog took effect. Never rejects. */
  reload(): Promise<boolean> {
    this.#reloading = this.#reloading.then(() => this.#load());
    return this.#reloading;
  }

  /** Stops watching and resolves when no poll is in flight. */
  async close(): Promise<void> {
    await this.#watch?.close();
  }

  async #load(): Promise<boolean> {
    const { file, prepare, log } = this.#options;
    try {
      const text = await readCatalogText(file);
      const { catalog, digest } = await readWithFiles(text, this.#options);
      // even if the catalog has a mistake: the fix may be in one of these files
      this.#engineFiles = Object.keys(catalog.engineFiles);
      if (digest === this.#digest && isSame(catalog.engineFiles, this.#current.engineFiles)) {
        return false;
      }
      for (const check of this.#checks) {
        this.#pass(check, catalog);
      }
      await prepare(catalog, nameOf(file, text));
      this.#digest = digest;
      this.#current = catalog;
      for (const listener of this.#listeners) {
        listener(catalog);
      }
      log.info({ models: catalog.models.size }, 'catalog reloaded');
      return true;
    } catch (error) {
      const reason = error instanceof CatalogError ? error.message : error;
      log.error({ error: reason }, 'catalog not reloaded, the old one stays in force');
      return false;
    }
  }

  async #look(): Promise<void> {
    const states = await perFile([this.#options.file, ...this.#engineFiles], stateOf);
    if (!isSame(states, this.#states)) {
      this.#states = states;
      await this.reload();
    }
  }

  #pass(check: CatalogCheck, catalog: Catalog): void {
    const mistake = check(catalog);
    if (mistake !== undefined) {
      throw new CatalogError(`${this.#options.file}: ${mistake}`);
    }
  }
}

/** Returns the file's name and the digest of its text, e.g. `tollgate.yaml@3b1c…`. */
function nameOf(file: string, text: string): string {
  return `${basename(file)}@${digestOf(text)}`;
}

function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Parses the text and adds the digests of the catalog's files. A file that cannot be read is reported by its engine. */
async function readWithFiles(
  text: string,
  { file, variables, filesOf }: CatalogSourceOptions,
): Promise<ParsedCatalog> {
  const { catalog, digest } = readCatalog(text, file, variables);
  const engineFiles = await perFile(filesOf(catalog), async (path) => digestOf(await readFile(path)));
  return { catalog: { ...catalog, engineFiles }, digest };
}

/** Returns a text that changes whenever the file is written or replaced. Rejects as `stat` does. */
async function stateOf(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Returns `textOf` each file, by its path; for one that fails, the error's code. */
async function perFile(
  paths: readonly string[],
  textOf: (path: string) => Promise<string>,
): Promise<PerFile> {
  const texts = paths.map(async (path): Promise<[string, string]> => {
    const text = await textOf(path).catch((error: NodeJS.ErrnoException) => error.code ?? '');
    return [path, text];
  });
  return Object.fromEntries(await Promise.all(texts));
}

function isSame(one: PerFile, other: PerFile): boolean {
  const paths = Object.keys(one);
  return paths.length === Object.keys(other).length && paths.every((path) => one[path] === other[path]);
}

/** Reads the text of a catalog. Throws CatalogError if the file cannot be read or is not UTF-8, as some editors of Windows save it. */
export async function readCatalogText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CatalogError(`${file}: cannot be read (${error.code ?? 'unknown'})`, { cause: error });
  });
  if (bytes.includes(0) || !isUtf8(bytes)) {
    throw new CatalogError(`${file}: is not UTF-8 text: save it with the encoding UTF-8`);
  }
  return bytes.toString('utf8');
}
