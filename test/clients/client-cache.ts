import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './run-program.ts';

/** A client could not be installed, for instance behind a mirror that has not got it: nothing is known of it then. */
export class NotInstalled extends Error {
  override readonly name = 'NotInstalled';
}

/** What clients are installed into: below the user's cache, never in the repository. */
export function clientCache(environment: NodeJS.ProcessEnv): string {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  return join(userCache, 'tollgate');
}

/**
 * A folder of the cache, filled by `install` where it is not there yet. It is filled under another name first: a half-made folder is
 * never taken for a whole one. What stands in it may therefore not know its own path. Throws {@link NotInstalled}.
 */
export async function cachedFolder(
  folder: string,
  install: (partial: string) => Promise<void>,
): Promise<string> {
  if (existsSync(folder)) {
    return folder;
  }
  const partial = `${folder}.${process.pid}`;
  await mkdir(partial, { recursive: true });
  try {
    await install(partial);
    await rename(partial, folder);
  } catch (error) {
    throw new NotInstalled(String(error), { cause: error });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Installs npm packages by name and version into a folder, without running their scripts. */
export function installFromNpm(folder: string, packages: readonly string[]): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  return runTool('npm', ['install', '--prefix', folder, ...quiet, ...packages]);
}
