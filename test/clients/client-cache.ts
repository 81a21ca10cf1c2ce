import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './run-program.ts';

/** Thrown when a client cannot be installed, for instance because a mirror does not have it: then nothing is known about it. */
export class NotInstalled extends Error {
  override readonly name = 'NotInstalled';
}

/** Returns the folder that clients are installed into: below the user's cache, never in the repository. */
export function clientCache(environment: NodeJS.ProcessEnv): string {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  return join(userCache, 'tollgate');
}

/**
 * Returns a folder of the cache, and fills it with `install` when it does not exist yet. It is first filled under another name, so that an
 * incomplete folder is never taken for a complete one; its contents must therefore not depend on its path. Throws {@link NotInstalled}.
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
