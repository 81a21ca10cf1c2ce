import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConnection } from '../../ops/embedded/connection-file.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { connectionUrl, type PostgresConnection } from '../../ops/embedded/postgres-roles.ts';
import { commandLine } from '../../ops/embedded/process-identity.ts';
import { addressOf, startProcess, stopProcess } from './processes.ts';
import { childrenOf, type Meters, processorMs } from './processor-time.ts';

const ADMIN_TOKEN = 'admin-token-of-the-benches';

/** The parts of the product, recognized among the supervisor's children by their command lines. */
const PARTS = {
  API: /dist\/src\/server\.js/,
  Postgres: /postgres.* -D /,
  Redis: /redis-server|redis\.conf|valkey/,
  worker: /dist\/workers\/main\.js/,
} as const;

export interface ProductOptions {
  /** Created by the start; holds everything the product writes. Must be below a folder of `temporaryFolder`. */
  readonly folder: string;
  /** The text of `tollgate.yaml`. */
  readonly catalog: string;
  /** Settings that differ from those of `npm start`. */
  readonly settings?: NodeJS.ProcessEnv;
  /** Node options that allow inspecting the API. */
  readonly apiOptions?: readonly string[];
  /** Folder of an earlier build to run instead of this one. */
  readonly build?: string;
}

/** The whole product, as `npm start` runs it. */
export interface Product {
  readonly url: string;
  readonly adminToken: string;
  /** Postgres URLs for the application role and the owner role. */
  readonly databaseUrl: string;
  readonly ownerUrl: string;
  /** Processor time in ms of the API, Postgres, Redis and the worker. */
  readonly meters: Meters;
  readonly postgresLog: string;
  stop(): Promise<void>;
}

/** Starts the product and waits until API and worker are ready. Throws an error with its output when it ends first. */
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

/** Returns the meters of the product's parts. Without /proc they count nothing. */
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
