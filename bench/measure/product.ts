import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConnection } from '../../ops/embedded/connection-file.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { connectionUrl, type PostgresConnection } from '../../ops/embedded/postgres-roles.ts';
import { commandLine } from '../../ops/embedded/process-identity.ts';
import { addressOf, startProcess, stopProcess } from './processes.ts';
import { childrenOf, type Meters, processorMs } from './processor-time.ts';

const ADMIN_TOKEN = 'admin-token-of-the-benches';

/** Which of the supervisor's children each part is, by what its command line says. */
const PARTS = {
  API: /dist\/src\/server\.js/,
  Postgres: /postgres.* -D /,
  Redis: /redis-server|redis\.conf|valkey/,
  worker: /dist\/workers\/main\.js/,
} as const;

export interface ProductOptions {
  /** Is made, and holds all that the product writes; below a folder of `temporaryFolder`. */
  readonly folder: string;
  /** The text of `tollgate.yaml`. */
  readonly catalog: string;
  /** Settings that differ from those of `npm start`. */
  readonly settings?: NodeJS.ProcessEnv;
  /** Options of Node that let the API be looked at. */
  readonly apiOptions?: readonly string[];
  /** Folder of an earlier build that is run instead of this one. */
  readonly build?: string;
}

/** The whole product, as `npm start` runs it. */
export interface Product {
  readonly url: string;
  readonly adminToken: string;
  /** Postgres in the application's role, and in the owner's. */
  readonly databaseUrl: string;
  readonly ownerUrl: string;
  /** Ms of processor time of the API, Postgres, Redis and the worker. */
  readonly meters: Meters;
  readonly postgresLog: string;
  stop(): Promise<void>;
}

/** Starts the product and waits until API and worker are ready. Throws with what it said when it ends before. */
export async function startProduct({
  folder,
  catalog,
  settings = {},
  apiOptions = [],
  build,
}: ProductOptions): Promise<Product> {
  const dataFolder = join(folder, 'data');
  mkdirSync(dataFolder, { recursive: true });
  const configFile = join(folder, 'tollgate.yaml');
  writeFileSync(configFile, catalog);
  const log = join(folder, 'start.log');
  const environment = {
    ...(process.env.XDG_CACHE_HOME && { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }),
    DATA_DIR: dataFolder,
    TOLLGATE_CONFIG: configFile,
    ADMIN_TOKEN,
    PORT: String(await choosePort()),
    ...(build !== undefined && { BENCH_BUILD: build }),
    ...(apiOptions.length > 0 && { BENCH_API_OPTIONS: apiOptions.join(' ') }),
    ...settings,
  };
  const child = startProcess('bench/measure/product-process.ts', environment, log);
  const url = await addressOf(child).catch((error: unknown) => {
    throw new Error(`${String(error)}:\n${readFileSync(log, 'utf8').slice(-2_000)}`);
  });
  const connection = readConnection(join(dataFolder, 'postgres.json')) as PostgresConnection;
  return {
    url,
    adminToken: ADMIN_TOKEN,
    databaseUrl: connectionUrl('application', connection),
    ownerUrl: connectionUrl('owner', connection),
    meters: metersOf(child.pid ?? 0),
    postgresLog: join(dataFolder, 'logs', 'postgres.log'),
    stop: () => stopProcess(child),
  };
}

/** Where there is no /proc, nothing is measured. */
function metersOf(supervisor: number): Meters {
  const children = childrenOf(supervisor).map((pid) => ({ pid, line: commandLine(pid) }));
  return Object.fromEntries(
    Object.entries(PARTS).map(([name, pattern]) => {
      const found = children.find(({ line }) => pattern.test(line));
      if (found === undefined && children.length > 0) {
        throw new Error(`${name} is not among ${children.map(({ line }) => line).join(', ')}`);
      }
      return [name, () => (found === undefined ? 0 : processorMs(found.pid))];
    }),
  );
}
