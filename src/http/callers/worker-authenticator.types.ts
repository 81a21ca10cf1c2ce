import type { IncomingHttpHeaders } from 'node:http';

/** A worker on a host without a database, identified by its token. */
export interface WorkerIdentity {
  readonly tokenId: string;
  readonly tokenHash: string;
  /** Name of the token. Its workers' hosts are named `<name>:<host>`. */
  readonly name: string;
  /** Pools whose tasks the token may take. */
  readonly pools: readonly string[];
}

export interface WorkerAuthenticator {
  /**
   * Identifies a worker by its token. Throws AppError missing_api_key, invalid_api_key, rate_limit_exceeded (too many failures from the
   * address).
   */
  identify(headers: IncomingHttpHeaders, address: string): Promise<WorkerIdentity>;
}
