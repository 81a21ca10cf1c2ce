import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A cold Rust or Maven cache takes minutes. */
const INSTALL_TIMEOUT_MS = 20 * 60_000;
const COMPLAINT_LENGTH = 600;

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
 * never taken for a whole one. What stands in it may therefore not know its own path. Throws what `install` throws.
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
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Runs an installer to its end. Throws {@link NotInstalled} with what it complains of. */
export async function runInstaller(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  try {
    await run(program, [...args], { timeout: INSTALL_TIMEOUT_MS, maxBuffer: 64 * 2 ** 20, ...options });
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    const text = (stderr || stdout || String(error)).trim();
    throw new NotInstalled(`${program} ${args.slice(0, 3).join(' ')}: ${text.slice(-COMPLAINT_LENGTH)}`, {
      cause: error,
    });
  }
}

/** Installs npm packages by name and version into a folder, without running their scripts. Throws {@link NotInstalled}. */
export function installFromNpm(folder: string, packages: readonly string[]): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  return runInstaller('npm', ['install', '--prefix', folder, ...quiet, ...packages]);
}
