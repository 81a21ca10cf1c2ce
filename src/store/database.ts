import { hostname } from 'node:os';
import pg from 'pg';
import { Sequelize } from 'sequelize';
import { connectTimeoutMs, databaseAddresses } from '../config/database-url.ts';
import { PrimaryClient, ServerRegistry } from './primary-client.ts';

export interface DatabaseSettings {
  readonly url: string;
  /** Connections of the money pool: each lane uses one, the rest serve movements and tasks. */
  readonly moneyConnections: number;
  /** Connections of Sequelize's pool: lists, reports, sessions. */
  readonly connections: number;
  /** Role of the process: its connections are named after it, its host and its process id. */
  readonly process?: 'api' | 'worker';
}

/** The two ways to access the one Postgres database: named statements on the money path, Sequelize for everything else. */
export interface Database {
  readonly money: pg.Pool;
  readonly sequelize: Sequelize;
  /** The server that all connections of this process belong to. */
  readonly servers: ServerRegistry;
  /** Returns a connection outside the pools, checked like theirs. The caller connects and ends it. */
  openClient(options?: pg.ClientConfig): PrimaryClient;
  close(): Promise<void>;
}

/** A lock that takes longer belongs to someone else's stalled transaction: give up, requeue, let the others pass. */
const LOCK_TIMEOUT_MS = 1_000;
const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** The client's own limit, above the statement timeout, for a server that does not answer at all. */
const QUERY_TIMEOUT_MS = 12_000;
/** Age at which a connection is replaced, so that none outlives what is known of its server and its certificate. */
const AGE_MS_MAX = 300_000;

/**
 * Connections of the money pool that stay open while idle: otherwise the first call after a pause would wait for connecting, signing in
 * and planning. One for holds, one for settlements, two for the other queries of a call.
 */
const KEPT_CONNECTIONS = 4;

/** Postgres cuts names after 63 bytes, and the process id comes last. */
const HOST_CHARACTERS_MAX = 36;

const SESSION_LIMITS = {
  lock: LOCK_TIMEOUT_MS,
  statement: STATEMENT_TIMEOUT_MS,
  idleInTransaction: IDLE_IN_TRANSACTION_TIMEOUT_MS,
};

const CONNECTION: pg.ClientConfig = {
  query_timeout: QUERY_TIMEOUT_MS,
  keepAlive: true,
};

/**
 * Creates both pools from the one parsed URL; connections are made on first use. `onError` is called for idle connections that broke:
 * they are replaced, but an unhandled 'error' event would end the process. Throws ConfigError for an unusable URL.
 */
export function createDatabase(settings: DatabaseSettings, onError: (error: Error) => void): Database {
  const servers = new ServerRegistry(databaseAddresses(settings.url));
  const connectMs = connectTimeoutMs(settings.url);
  const connection = {
    ...CONNECTION,
    connectionTimeoutMillis: connectMs,
    application_name: applicationName(settings.process),
  };
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
      ...{ max: settings.connections, min: 0, acquire: connectMs, idle: 10_000 },
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

/** Returns the name shown in `pg_stat_activity`: `tollgate-api@host:pid`. */
function applicationName(role: DatabaseSettings['process']): string {
  const host = hostname().slice(0, HOST_CHARACTERS_MAX);
  return `tollgate${role === undefined ? '' : `-${role}`}@${host}:${process.pid}`;
}

/** Returns whether Sequelize may reuse a connection. Sequelize marks broken ones. */
function isUsable(
  client: PrimaryClient & { readonly _invalid?: boolean; readonly _ending?: boolean },
): boolean {
  return !client._invalid && !client._ending && !client.isSpent && client.ageMs < AGE_MS_MAX;
}
