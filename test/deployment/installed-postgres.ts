import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { findServiceUser } from '../../ops/embedded/unprivileged-user.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';

/** A Postgres of this machine's packages, with the client programs of the same version. */
export interface InstalledPostgres {
  readonly ownerUrl: string;
  readonly applicationUrl: string;
  /** Folder of pg_dump and the other programs. */
  readonly programs: string;
  stop(): Promise<void>;
}

/** Folder of the newest server that Debian's packages brought, with its pg_dump; undefined: there is none. */
export function installedPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number).filter(Boolean) : [];
  return versions
    .sort((one, other) => other - one)
    .map((version) => join(DEBIAN, String(version), 'bin'))
    .find((folder) =>
      ['initdb', 'pg_ctl', 'pg_dump', 'psql'].every((name) => existsSync(join(folder, name))),
    );
}

/** A new cluster with the database and the roles that ops/postgres/create-roles.sh makes. */
export async function startInstalledPostgres(programs: string): Promise<InstalledPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-postgres-'));
  const data = join(folder, 'data');
  const user = findServiceUser(data);
  if (user) {
    await chown(folder, user.uid, user.gid);
  }
  await chmod(folder, 0o711);
  const as = { cwd: folder, ...(user ? { uid: user.uid, gid: user.gid } : {}) };
  const program = (name: string, args: readonly string[]) => run(join(programs, name), [...args], as);
  await program('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
  const port = await choosePort();
  const settings = `-p ${port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off`;
  await program('pg_ctl', ['-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
  const connection = { PATH: `${programs}:${process.env.PATH}`, PGHOST: '127.0.0.1', PGPORT: String(port) };
  const createdb = join(programs, 'createdb');
  await run(createdb, ['-U', 'postgres', 'tollgate'], { env: connection });
  await run('sh', [join(ROOT, 'ops/postgres/create-roles.sh')], {
    env: { ...connection, DATABASE_OWNER_PASSWORD: 'owner', DATABASE_APPLICATION_PASSWORD: 'application' },
  });
  return {
    ownerUrl: `postgresql://tollgate_owner:owner@127.0.0.1:${port}/tollgate`,
    applicationUrl: `postgresql://tollgate_app:application@127.0.0.1:${port}/tollgate`,
    programs,
    stop: async () => {
      await program('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
