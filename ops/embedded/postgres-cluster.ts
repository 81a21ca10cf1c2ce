import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './error-code.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import type { PostgresHome } from './postgres-home.ts';
import { runCommand } from './run-command.ts';
import { explainFileError, explainFullDisk, StartFailure } from './start-failure.ts';

export const OWNER_ROLE = 'tollgate_owner';
export const APPLICATION_ROLE = 'tollgate';
export const DATABASE_NAME = 'tollgate';

const INITDB_TIMEOUT_MS = 120_000;
const MAJOR_VERSION = '18';

/** Returns whether the cluster exists. Throws StartFailure when it belongs to another Postgres major version or account. */
export function hasCluster(home: PostgresHome): boolean {
  const file = join(home.cluster, 'PG_VERSION');
  let version: string;
  try {
    version = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return false;
    }
    throw explainFileError(error, home.cluster);
  }
  if (version !== MAJOR_VERSION) {
    throw new StartFailure(
      `${home.cluster} was created by Postgres ${version}, but this is ${MAJOR_VERSION}. Dump and restore it, or set DATABASE_URL.`,
    );
  }
  const owner = statSync(home.cluster).uid;
  const runner = home.user?.uid ?? process.getuid?.();
  if (runner !== undefined && owner !== runner) {
    throw new StartFailure(
      `${home.cluster} belongs to another account (uid ${owner}). Start as that account, or set DATA_DIR to another folder.`,
    );
  }
  return true;
}

/**
 * Creates the cluster in a temporary folder and moves it into place when complete, so that a start that is killed midway leaves
 * no partial cluster. The owner role gets `ownerPassword`. Throws StartFailure, also on a full disk.
 */
export async function createCluster(
  home: PostgresHome,
  binaries: PostgresBinaries,
  ownerPassword: string,
  durable: boolean,
): Promise<void> {
  const workFolder = join(home.folder, 'postgres-init');
  const passwordFile = join(workFolder, 'password');
  const unfinished = join(workFolder, 'data');
  try {
    rmSync(workFolder, { recursive: true, force: true });
    mkdirSync(workFolder, { mode: 0o700 });
    writeFileSync(passwordFile, ownerPassword, { mode: 0o600 });
    if (home.user !== undefined) {
      chownSync(workFolder, home.user.uid, home.user.gid);
      chownSync(passwordFile, home.user.uid, home.user.gid);
    }
    await runInitdb(home, binaries, { unfinished, passwordFile, durable });
    if (existsSync(home.cluster)) {
      // It has no PG_VERSION, or we would not be here: it is the empty folder of a mount.
      rmSync(home.cluster, { recursive: true });
    }
    renameSync(unfinished, home.cluster);
  } catch (error) {
    throw explainFileError(error, home.folder);
  } finally {
    rmSync(workFolder, { recursive: true, force: true });
  }
}

async function runInitdb(
  home: PostgresHome,
  binaries: PostgresBinaries,
  options: { unfinished: string; passwordFile: string; durable: boolean },
): Promise<void> {
  const identity = home.user === undefined ? {} : { uid: home.user.uid, gid: home.user.gid };
  const result = await runCommand(
    binaries.initdb,
    [
      `--pgdata=${options.unfinished}`,
      `--username=${OWNER_ROLE}`,
      `--pwfile=${options.passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The built-in provider sorts identically on every machine, whatever locales are installed.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(options.durable ? [] : ['--no-sync']),
    ],
    {
      ...identity,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      timeoutMs: INITDB_TIMEOUT_MS,
    },
  );
  if (result.code !== 0) {
    const output = `${result.stdout}\n${result.stderr}`;
    throw explainFullDisk(output, home.folder) ?? new StartFailure(initdbReason(output, home.cluster));
  }
}

function initdbReason(output: string, cluster: string): string {
  const line = output.split('\n').find((candidate) => /error|FATAL|took longer/i.test(candidate));
  return `Postgres could not create its files in ${cluster}: ${(line ?? 'initdb failed').trim()}`;
}
