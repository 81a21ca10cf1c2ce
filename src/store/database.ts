import { hostname } from 'node:os';
import pg from 'pg';
import { Sequelize } from 'sequelize';
import { databaseAddresses } from '../config/database-url.ts';
import { PrimaryClient, ServerRegistry } from './primary-client.ts';

export interface DatabaseSettings {
  readonly url: string;
  /** Connections of the money pool; the lanes use one each, the rest serves movements and tasks. */
  readonly moneyConnections: number;
  /** Connections of Sequelize's pool: lists, reports, sessions. */
  readonly connections: number;
  /** What the process does: its connections are named after it, its host and its id. */
  readonly process?: 'api' | 'worker';
}

/** The two doors to the one Postgres: named statements on the money path, Sequelize for everything else. */
export interface Database {
  readonly money: pg.Pool;
  readonly sequelize: Sequelize;
  /** The server that all connections of this process belong to. */
  readonly servers: ServerRegistry;
  /** A connection outside the pools, checked like theirs; the caller connects and ends it. */
  openClient(options?: pg.ClientConfig): PrimaryClient;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** A waiting lock is somebody else's stalled transaction: give up, requeue, let the others pass. */
const LOCK_TIMEOUT_MS = 1_000;
const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** The client's own limit, for a server that does not answer at all; above the statement timeout. */
const QUERY_TIMEOUT_MS = 12_000;
/** A connection is replaced at that age, so that none outlives what is known of its server and its certificate. */
const AGE_MS_MAX = 300_000;

/**
 * Connections of the money pool that stay open while nobody calls: the first call after a pause would wait for connecting, signing in and
 * planning. One for holds, one for settlements, two for what else a call asks.
 */
const KEPT_CONNECTIONS = 4;

/** Postgres cuts names after 63 bytes; the process id stands at the end. */
const HOST_CHARACTERS_MAX = 36;

const SESSION_LIMITS = {
  lock: LOCK_TIMEOUT_MS,
  statement: STATEMENT_TIMEOUT_MS,
  idleInTransaction: IDLE_IN_TRANSACTION_TIMEOUT_MS,
};

const CONNECTION: pg.ClientConfig = {
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: QUERY_TIMEOUT_MS,
  keepAlive: true,
};

/**
 * Opens both pools; connections are made on first use, both by the one parsed URL. `onError` is called for idle connections that broke:
 * they are replaced, but an unheard 'error' event would end the process. Throws ConfigError for a URL that cannot be used.
 */
export function createDatabase(settings: DatabaseSettings, onError: (error: Error) => void): Database {
  const servers = new ServerRegistry(databaseAddresses(settings.url));
  const connection = { ...CONNECTION, application_name: applicationName(settings.process) };
  class Client extends PrimaryClient {
    constructor(options: pg.ClientConfig = {}) {
      super(servers, SESSION_LIMITS, options);
    }
  }
  const money = new pg.Pool({
    ...connection,
    Client,
    max: settings.moneyConnections,
    min: KEPT_CONNECTIONS,
    maxLifetimeSeconds: AGE_MS_MAX / 1_000,
  });
  money.on('error', onError);
  const sequelize = new Sequelize({
    dialect: 'postgres',
    dialectModule: { ...pg, Client },
    logging: false,
    pool: {
      ...{ max: settings.connections, min: 0, acquire: CONNECT_TIMEOUT_MS, idle: 10_000 },
      validate: isUsable as (client: unknown) => boolean,
    },
    dialectOptions: connection,
    define: { timestamps: false, underscored: true, freezeTableName: true },
  });
  return {
    money,
    sequelize,
    servers,
    openClient: (options) => new Client({ ...connection, ...options }),
    close: async () => {
      await Promise.all([money.end(), sequelize.close()]);
    },
  };
}

/** As `pg_stat_activity` shows it: `tollgate-api@host:pid`. */
function applicationName(role: DatabaseSettings['process']): string {
  const host = hostname().slice(0, HOST_CHARACTERS_MAX);
  return `tollgate${role === undefined ? '' : `-${role}`}@${host}:${process.pid}`;
}

/** Sequelize marks connections that broke. */
function isUsable(
  client: PrimaryClient & { readonly _invalid?: boolean; readonly _ending?: boolean },
): boolean {
  return !client._invalid && !client._ending && !client.isSpent && client.ageMs < AGE_MS_MAX;
}
