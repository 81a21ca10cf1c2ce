import pg from 'pg';
import { Sequelize } from 'sequelize';

export interface DatabaseSettings {
  readonly url: string;
  /** Connections of the money pool; the lanes use one each, the rest serves movements and tasks. */
  readonly moneyConnections: number;
  /** Connections of Sequelize's pool: lists, reports, sessions. */
  readonly connections: number;
}

/** The two doors to the one Postgres: named statements on the money path, Sequelize for everything else. */
export interface Database {
  readonly money: pg.Pool;
  readonly sequelize: Sequelize;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** A waiting lock is somebody else's stalled transaction: give up, requeue, let the others pass. */
const LOCK_TIMEOUT_MS = 1_000;
const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** The client's own limit, for a server that does not answer at all; above the statement timeout. */
const QUERY_TIMEOUT_MS = 12_000;

const SESSION = {
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  statement_timeout: STATEMENT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  query_timeout: QUERY_TIMEOUT_MS,
  keepAlive: true,
};

/**
 * Opens both pools; connections are made on first use. `onError` hears of idle connections that broke: they are
 * replaced, but an unheard 'error' event would end the process.
 */
export function createDatabase(settings: DatabaseSettings, onError: (error: Error) => void): Database {
  const money = new pg.Pool({ ...SESSION, connectionString: settings.url, max: settings.moneyConnections });
  money.on('error', onError);
  const sequelize = new Sequelize(settings.url, {
    dialect: 'postgres',
    logging: false,
    pool: { max: settings.connections, min: 0, acquire: CONNECT_TIMEOUT_MS, idle: 10_000 },
    dialectOptions: SESSION,
    define: { timestamps: false, underscored: true, freezeTableName: true },
  });
  return {
    money,
    sequelize,
    close: async () => {
      await Promise.all([money.end(), sequelize.close()]);
    },
  };
}
