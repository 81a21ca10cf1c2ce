import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  canCreate,
  DOWNLOAD_TIMEOUT_MS,
  firstProblem,
  hasProgram,
  openPrivateApt,
  packagesToInstall,
  unpackAll,
  updateLists,
} from '../../ops/embedded/private-apt.ts';

export interface PackageChoice {
  /** Name of the folder in the per-user cache. */
  readonly name: string;
  /** Debian packages to unpack, with all dependencies that this system lacks. */
  readonly packages: readonly string[];
  /** Dependencies that the tests do not need. */
  readonly without?: RegExp;
  /** Returns why the contents of the folder do not work here, in the program's own words, or undefined when they work. */
  readonly whyNot: (folder: string) => Promise<string | undefined>;
}

/** Timeout for `beforeAll`, in ms: the first run on a machine downloads packages. */
export const PACKAGES_TIMEOUT_MS = 240_000;

/**
 * Returns a folder with the files of Debian packages, from the per-user cache or downloaded there without any privileges. Throws an
 * Error that gives the reason when that fails: a skipped test proves nothing.
 */
export async function unpackedPackages(
  choice: PackageChoice,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const cache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const folder = join(cache, 'tollgate', `${choice.name}-${process.platform}-${process.arch}`);
  if (existsSync(folder) && (await choice.whyNot(folder)) === undefined) {
    return folder;
  }
  const problem = await fetchPackages(folder, choice, environment);
  if (problem !== undefined) {
    throw new Error(
      `The tests need ${choice.name}: it is not in ${folder} and ${problem}. Fetching needs apt-get and dpkg (Debian or Ubuntu) and a package mirror.`,
    );
  }
  const reason = await choice.whyNot(folder);
  if (reason !== undefined) {
    throw new Error(
      `The tests need ${choice.name}: its packages are unpacked in ${folder}, but it does not run: ${reason}`,
    );
  }
  return folder;
}

/**
 * Returns the folders with shared libraries below an unpacked root in the form of LD_LIBRARY_PATH: first the public ones, then the
 * private ones of packages (`pulseaudio`, `blas`, …), which their programs know by absolute paths that do not exist here.
 */
export function libraryPath(root: string): string {
  const folders = new Set<string>();
  for (const place of ['lib', 'usr/lib'].map((name) => join(root, name)).filter(existsSync)) {
    for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
      if (/^lib.+\.so(\.|$)/.test(entry.name)) {
        folders.add(entry.parentPath);
      }
    }
  }
  const depth = (folder: string) => folder.split('/').length;
  return [...folders].sort((one, other) => depth(one) - depth(other)).join(':');
}

/** Downloads and unpacks the packages. Returns the reason when that fails. */
async function fetchPackages(
  folder: string,
  choice: PackageChoice,
  environment: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  if (!(await hasProgram('apt-get')) || !(await hasProgram('dpkg'))) {
    return 'this system has no apt';
  }
  if (!canCreate(folder)) {
    return `${folder} cannot be created`;
  }
  const work = `${folder}.${process.pid}`;
  try {
    // the existing files do not run here; remove them now, because later another process might be about to use them
    rmSync(folder, { recursive: true, force: true });
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    const apt = openPrivateApt(work, environment);
    const problem = await updateLists(apt);
    if (problem !== undefined) {
      return problem;
    }
    const needed = await packagesToInstall(apt, choice.packages);
    if (needed.problem !== undefined) {
      return `apt cannot install ${choice.packages.join(', ')} (${needed.problem})`;
    }
    const names = needed.names.filter(
      (name) => choice.packages.includes(name) || !choice.without?.test(name),
    );
    const result = await apt('apt-get', ['download', ...names], DOWNLOAD_TIMEOUT_MS);
    if (result.code !== 0) {
      return `its packages could not be downloaded (${firstProblem(result)})`;
    }
    await unpackAll(work);
    renameSync(join(work, 'root'), folder);
    return undefined;
  } catch (error) {
    // Another test process may have put the same files there in the meantime.
    return existsSync(folder) ? undefined : String(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
