import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { Catalog } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import { parseCatalog } from './parse-catalog.ts';

const WATCH_INTERVAL_MS = 1_000;

export interface CatalogSourceOptions {
  /** Path of tollgate.yaml. */
  readonly file: string;
  /** What `${NAME}` in the file refers to. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Says what is wrong with a catalog beyond what the file alone shows. */
  readonly check: CatalogCheck;
  /** Paths of further files that belong to a catalog: a change of one is a change of it. */
  readonly filesOf: (catalog: Catalog) => readonly string[];
  /** Runs before a catalog comes into force; when it rejects, the catalog does not. `name` tells its text from any other. */
  readonly prepare: (catalog: Catalog, name: string) => Promise<void>;
  readonly log: Logger;
}

type PerFile = Catalog['engineFiles'];

/** Says in one line what is wrong with a catalog; undefined where nothing is. */
export type CatalogCheck = (catalog: Catalog) => string | undefined;

/** The catalog in force, reloaded when the file changes. A catalog with a mistake never replaces a good one. */
export class CatalogSource {
  readonly #options: CatalogSourceOptions;
  readonly #listeners: ((catalog: Catalog) => void)[] = [];
  readonly #checks: CatalogCheck[] = [];
  /** How each watched file stood at the last look, which was before it was read. */
  #states: PerFile = {};
  #watch: Loop | undefined;
  /** What belongs to the catalog beside its file: paths of files that its engines name, as of the last text that could be read. */
  #engineFiles: readonly string[];
  #current: Catalog;
  #text: string;
  #reloading: Promise<boolean> = Promise.resolve(false);

  private constructor(options: CatalogSourceOptions, text: string, catalog: Catalog) {
    this.#options = options;
    this.#text = text;
    this.#current = catalog;
    this.#engineFiles = Object.keys(catalog.engineFiles);
  }

  /** Reads the file for the first time. Throws CatalogError, and whatever `prepare` throws. */
  static async open(options: CatalogSourceOptions): Promise<CatalogSource> {
    const text = await read(options.file);
    const catalog = await withFiles(parseCatalog(text, options.file, options.variables), options);
    const source = new CatalogSource(options, text, catalog);
    source.addCheck(options.check);
    await options.prepare(catalog, nameOf(options.file, text));
    return source;
  }

  get current(): Catalog {
    return this.#current;
  }

  /** Asks this of the catalog in force and of every later one. Throws CatalogError for the first; a later one does not come into force. */
  addCheck(check: CatalogCheck): void {
    this.#pass(check, this.#current);
    this.#checks.push(check);
  }

  /** Called with every catalog that comes into force later. */
  onChange(listener: (catalog: Catalog) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Looks every `everyMs` (ms; a second unless said otherwise) at the file and at those that its engines name. By polling: editors and
   * orchestrators replace files rather than write them. The first look reads them all: they may have changed since the catalog was opened.
   */
  watch(everyMs = WATCH_INTERVAL_MS): void {
    this.#watch = every(everyMs, () => this.#look());
  }

  /** Reads the file again, one reload after the other. Resolves to whether another catalog is in force; never rejects. */
  reload(): Promise<boolean> {
    this.#reloading = this.#reloading.then(() => this.#load());
    return this.#reloading;
  }

  /** Stops watching, and resolves when no look is in flight. */
  async close(): Promise<void> {
    await this.#watch?.close();
  }

  async #load(): Promise<boolean> {
    const { file, variables, prepare, log } = this.#options;
    try {
      const text = await read(file);
      const catalog = await withFiles(parseCatalog(text, file, variables), this.#options);
      // also where it has a mistake: what is mended next may be one of its files
      this.#engineFiles = Object.keys(catalog.engineFiles);
      if (text === this.#text && isSame(catalog.engineFiles, this.#current.engineFiles)) {
        return false;
      }
      for (const check of this.#checks) {
        this.#pass(check, catalog);
      }
      await prepare(catalog, nameOf(file, text));
      this.#text = text;
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

/** The file's name and the digest of its text, e.g. `tollgate.yaml@3b1c…`. */
function nameOf(file: string, text: string): string {
  return `${basename(file)}@${digestOf(text)}`;
}

function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The catalog with what its files hold now. One that cannot be read is its engine's to complain of. */
async function withFiles(catalog: Catalog, { filesOf }: CatalogSourceOptions): Promise<Catalog> {
  const engineFiles = await perFile(filesOf(catalog), async (path) => digestOf(await readFile(path)));
  return { ...catalog, engineFiles };
}

/** Another text once the file was written or replaced. Rejects as `stat` does. */
async function stateOf(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

/** The text of each file, by its path; of one that has none, the code of its error. */
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

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new CatalogError(`${file}: cannot be read (${reason})`, { cause: error });
  }
}
