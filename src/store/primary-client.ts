import pg from 'pg';
import { SESSION_SETTINGS } from '../../migrations/session-settings.ts';
import type { DatabaseAddress } from '../config/database-url.ts';

/** The server that a connection reached. */
export interface ServerIdentity {
  /** Start time of the server in seconds since 1970: unique to a run of a server. */
  readonly run: string;
  /** Id of the database within its server. */
  readonly databaseId: string;
  readonly isReadOnly: boolean;
}

/** Timeouts of a session, in ms. */
export interface SessionLimits {
  readonly lock: number;
  readonly statement: number;
  readonly idleInTransaction: number;
}

/** A connection reached a standby, which would serve stale reads and reject every booking. */
export class StandbyError extends Error {
  /** SQLSTATE cannot_connect_now: an outage, to be retried. */
  readonly code = '57P03';

  constructor() {
    super('this Postgres server is a standby: a primary is required');
    this.name = 'StandbyError';
  }
}

/** Of the check of a new connection, in ms, unless the connection itself may take longer. */
const CHECK_TIMEOUT_MS = 3_000;

/**
 * SQLSTATEs that concern the statement or someone else's lock, and leave the connection usable: data (22), integrity
 * (23), rolled back (40), lock not available (55), statement timeout (57014), raised by our functions (P0, TG).
 */
const HARMLESS = /^(22...|23...|40...|55...|57014|P0...|TG...)$/;

/**
 * Tracks which server the connections of this process belong to. They come from several pools, and a failover can move the address
 * behind them: as soon as one connection reaches another server, all connections to the previous one are broken off.
 */
export class ServerRegistry {
  readonly #addresses: readonly DatabaseAddress[];
  readonly #clients = new Set<PrimaryClient>();
  #next = 0;
  #current: ServerIdentity | undefined;

  constructor(addresses: readonly DatabaseAddress[]) {
    this.#addresses = addresses;
  }

  /** The server that the newest connection reached. */
  get current(): ServerIdentity | undefined {
    return this.#current;
  }

  /** The address for the next connection. */
  get address(): DatabaseAddress {
    return this.#addresses[this.#next % this.#addresses.length] as DatabaseAddress;
  }

  get addressCount(): number {
    return this.#addresses.length;
  }

  /** Records that no primary answered at this address, so that the next connection tries the following one. */
  failed(address: DatabaseAddress): void {
    if (address === this.address) {
      this.#next += 1;
    }
  }

  joined(client: PrimaryClient, server: ServerIdentity): void {
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
    if (this.#current?.run === server.run) {
      return;
    }
    this.#current = server;
    for (const other of this.#clients) {
      if (other.server?.run !== server.run) {
        other.breakOff();
      }
    }
  }
}

/**
 * A connection to the primary. It is checked before anyone uses it: a standby is rejected, and the session's limits and settings are set
 * by a statement, which poolers pass on even where they reject unknown startup parameters. An error about the connection or its server marks
 * it as spent: no pool hands it out again.
 */
export class PrimaryClient extends pg.Client {
  readonly #address: DatabaseAddress;
  readonly #registry: ServerRegistry;
  readonly #limits: SessionLimits;
  readonly #checkMs: number;
  readonly #bornAt = performance.now();
  #server: ServerIdentity | undefined;
  #isSpent = false;

  constructor(registry: ServerRegistry, limits: SessionLimits, options: pg.ClientConfig) {
    super({ ...options, ...registry.address });
    this.#address = registry.address;
    this.#registry = registry;
    this.#limits = limits;
    this.#checkMs = Math.max(CHECK_TIMEOUT_MS, options.connectionTimeoutMillis ?? 0);
    // a connection that breaks during the check has no owner yet to handle the event, and an unhandled one ends the process
    this.on('error', () => {
      this.#isSpent = true;
    });
    this.query = watched(this.query.bind(this), (error) => this.#judge(error));
  }

  /** Undefined until the connection has been checked. */
  get server(): ServerIdentity | undefined {
    return this.#server;
  }

  get isSpent(): boolean {
    return this.#isSpent;
  }

  get ageMs(): number {
    return performance.now() - this.#bornAt;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const connected = this.#connectChecked();
    if (callback === undefined) {
      return connected;
    }
    const done = callback as (error?: Error) => void;
    connected.then(() => done(), done);
    return undefined;
  }

  /** Ends the connection at once, without notifying the server. Queries running on it fail as with any broken connection. */
  breakOff(): void {
    this.#isSpent = true;
    this.connection.stream.destroy();
  }

  async #connectChecked(): Promise<pg.Client> {
    try {
      await super.connect();
      const server = await this.#check();
      this.#server = server;
      this.#registry.joined(this, server);
      return this;
    } catch (error) {
      this.#registry.failed(this.#address);
      this.end().catch(() => undefined);
      throw error;
    }
  }

  async #check(): Promise<ServerIdentity> {
    const { lock, statement, idleInTransaction } = this.#limits;
    const { rows } = await this.query<{
      standby: boolean;
      run: string;
      database: string;
      read_only: boolean;
    }>({
      text: `SELECT pg_is_in_recovery() AS standby, extract(epoch FROM pg_postmaster_start_time())::text AS run,
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database,
        current_setting('transaction_read_only')::boolean AS read_only,
        set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false),
        set_config('idle_in_transaction_session_timeout', $3, false), ${SESSION_SETTINGS}`,
      values: [lock, statement, idleInTransaction].map(String),
      query_timeout: this.#checkMs,
    } as pg.QueryConfig);
    const [row] = rows;
    if (row === undefined || row.standby) {
      throw new StandbyError();
    }
    return { run: row.run, databaseId: row.database, isReadOnly: row.read_only };
  }

  #judge(error: unknown): void {
    const code = (error as { code?: unknown } | null)?.code;
    if (!(typeof code === 'string' && HARMLESS.test(code))) {
      this.#isSpent = true;
    }
  }
}

/** Returns the same function, except that `judge` sees failures first, whether by callback or promise. */
function watched(query: pg.Client['query'], judge: (error: unknown) => void): pg.Client['query'] {
  const send = query as (...values: unknown[]) => unknown;
  const watching = (...values: unknown[]): unknown => {
    const callback = values.at(-1);
    if (typeof callback === 'function') {
      values[values.length - 1] = (error: unknown, result: unknown) => {
        if (error) {
          judge(error);
        }
        callback(error, result);
      };
      return send(...values);
    }
    const result = send(...values);
    if (result instanceof Promise) {
      result.catch(judge);
    }
    return result;
  };
  return watching as pg.Client['query'];
}
