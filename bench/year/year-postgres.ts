import { execFile } from 'node:child_process';
import { chown, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { postgresSettings } from '../../ops/embedded/postgres-settings.ts';
import { findServiceUser } from '../../ops/embedded/unprivileged-user.ts';
import { findPostgres } from '../../test/deployment/installed-postgres.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';

const execute = promisify(execFile);
const OWNER = 'tollgate_owner';
const APPLICATION = 'tollgate_app';
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

export interface YearPostgres {
  /** Application role, as in production. */
  readonly url: string;
  readonly ownerUrl: string;
  /** `server_version`. */
  readonly version: string;
  /** Runs a program of this Postgres, or a script that calls such programs. Returns its output. */
  run(file: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string>;
  /** Creates an empty database on the same server and returns its URL for the owner role. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a migrated Postgres with fsync on and the settings of the one that `npm start` brings, in a temporary folder. It is Debian's,
 * because the one that `npm start` brings has no pg_dump. Rejects when its packages are not available.
 */
export async function startYearPostgres(): Promise<YearPostgres> {
  const programs = await findPostgres(process.env);
  const folder = ownTemporaryFolder('bench-year');
  const data = join(folder, 'data');
  const log = join(folder, 'postgres.log');
  const user = findServiceUser(data);
  if (user) {
    await chown(folder, user.uid, user.gid);
  }
  const environment = {
    ...process.env,
    ...programs.environment,
    PATH: `${programs.folder}:${process.env.PATH}`,
  };
  const server = (name: string, args: readonly string[]) =>
    execute(join(programs.folder, name), [...args], {
      cwd: folder,
      env: environment,
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    });
  const port = await choosePort();
  const urlOf = (role: string, database: string) => `postgresql://${role}@127.0.0.1:${port}/${database}`;
  const asAdministrator = async (...texts: readonly string[]) => {
    const client = new pg.Client({ connectionString: urlOf('postgres', 'postgres') });
    await client.connect();
    try {
      for (const text of texts) {
        await client.query(text);
      }
      const { rows } = await client.query<{ version: string }>(
        `SELECT current_setting('server_version') AS version`,
      );
      return rows[0]!.version;
    } finally {
      await client.end();
    }
  };
  await server('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']);
  const settings = postgresSettings(port)
    .map((argument) => `'${argument}'`)
    .join(' ');
  try {
    await server('pg_ctl', ['-D', data, '-w', '-l', log, '-o', settings, 'start']);
  } catch (error) {
    throw new Error(`Postgres did not start: ${await readFile(log, 'utf8').catch(() => '')}`, {
      cause: error,
    });
  }
  const version = await asAdministrator(
    `CREATE ROLE ${OWNER} LOGIN`,
    `CREATE ROLE ${APPLICATION} LOGIN`,
    `CREATE DATABASE tollgate OWNER ${OWNER}`,
  );
  const [url, ownerUrl] = [urlOf(APPLICATION, 'tollgate'), urlOf(OWNER, 'tollgate')];
  await migrateUp({ ownerUrl, applicationRole: APPLICATION });
  return {
    url,
    ownerUrl,
    version,
    run: async (file, args, more = {}) => {
      const options = { env: { ...environment, ...more }, maxBuffer: OUTPUT_BYTES_MAX };
      return (await execute(file, [...args], options)).stdout;
    },
    createDatabase: async (name) => {
      await asAdministrator(`CREATE DATABASE ${name} OWNER ${OWNER}`);
      return urlOf(OWNER, name);
    },
    dropDatabase: async (name) => {
      await asAdministrator(`DROP DATABASE ${name}`);
    },
    stop: async () => {
      await server('pg_ctl', ['-D', data, '-w', '-m', 'fast', 'stop']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
