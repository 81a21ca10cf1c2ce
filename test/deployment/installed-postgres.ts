import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { findServiceUser } from '../../ops/embedded/unprivileged-user.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { libraryPath, unpackedPackages } from '../setup/debian-packages.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';
const PROGRAMS = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'psql', 'createdb'];

/** A Postgres from this machine's packages, with client programs of the same version. */
export interface InstalledPostgres {
  readonly ownerUrl: string;
  readonly applicationUrl: string;
  /** Folder of pg_dump and the other programs. */
  readonly programs: PostgresPrograms;
  /** Creates another database of the owner on the same server. */
  createDatabase(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Postgres's programs and what they need to run. */
export interface PostgresPrograms {
  readonly folder: string;
  /** LD_LIBRARY_PATH, when the libraries are not the system's. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Other dependencies of `postgresql`: the compiler of its queries, and Perl for Debian's own wrappers. Neither is used here. */
const NOT_NEEDED = /^(libllvm|libz3|perl|libperl|lib.+-perl$|locales|ssl-cert|adduser)/;

/**
 * Finds the newest server with its client programs: installed from Debian's packages, or unpacked into the per-user cache. Throws an Error
 * when there is neither.
 */
export async function findPostgres(environment: NodeJS.ProcessEnv): Promise<PostgresPrograms> {
  const installed = programsBelow(DEBIAN);
  if (installed !== undefined) {
    return { folder: installed, environment: {} };
  }
  const programsIn = (root: string): PostgresPrograms | undefined => {
    const folder = programsBelow(join(root, DEBIAN));
    return folder === undefined ? undefined : { folder, environment: { LD_LIBRARY_PATH: libraryPath(root) } };
  };
  const whyNot = async (root: string) => {
    const found = programsIn(root);
    if (found === undefined) {
      return `its packages do not contain ${PROGRAMS.join(', ')}`;
    }
    const options = { env: { PATH: '/usr/bin:/bin', ...found.environment }, timeoutMs: 10_000 };
    const answers = ['postgres', ...PROGRAMS].map((name) =>
      whyNotRunning(join(found.folder, name), ['--version'], options),
    );
    return (await Promise.all(answers)).find((answer) => answer !== undefined);
  };
  const choice = { name: 'postgres', packages: ['postgresql'], without: NOT_NEEDED, whyNot };
  const root = await unpackedPackages(choice, environment);
  return programsIn(root) ?? Promise.reject(new Error(`no Postgres programs in ${root}`));
}

function programsBelow(root: string): string | undefined {
  const versions = existsSync(root) ? readdirSync(root).map(Number).filter(Boolean) : [];
  return versions
    .sort((one, other) => other - one)
    .map((version) => join(root, String(version), 'bin'))
    .find((folder) => PROGRAMS.every((name) => existsSync(join(folder, name))));
}

/** Starts a new cluster with the database and the roles that ops/postgres/create-roles.sh creates. */
export async function startInstalledPostgres({
  folder: programs,
  environment,
}: PostgresPrograms): Promise<InstalledPostgres> {
  const folder = ownTemporaryFolder('postgres');
  const data = join(folder, 'data');
  const user = findServiceUser(data);
  if (user) {
    await chown(folder, user.uid, user.gid);
  }
  const as = {
    cwd: folder,
    env: { ...process.env, ...environment },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  };
  const program = (name: string, args: readonly string[]) => run(join(programs, name), [...args], as);
  await program('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
  const port = await choosePort();
  const settings = `-p ${port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off`;
  await program('pg_ctl', ['-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
  const connection = {
    ...environment,
    PATH: `${programs}:${process.env.PATH}`,
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
  };
  const createdb = join(programs, 'createdb');
  await run(createdb, ['-U', 'postgres', 'tollgate'], { env: connection });
  await run('sh', [join(ROOT, 'ops/postgres/create-roles.sh')], {
    env: {
      ...connection,
      DATABASE_OWNER_PASSWORD: 'owner',
      DATABASE_APPLICATION_PASSWORD: 'application',
      DATABASE_SCALER_PASSWORD: 'scaler',
    },
  });
  return {
    ownerUrl: `postgresql://tollgate_owner:owner@127.0.0.1:${port}/tollgate`,
    applicationUrl: `postgresql://tollgate_app:application@127.0.0.1:${port}/tollgate`,
    programs: { folder: programs, environment },
    createDatabase: async (name) => {
      await run(createdb, ['-U', 'postgres', '-O', 'tollgate_owner', name], { env: connection });
    },
    stop: async () => {
      await program('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
