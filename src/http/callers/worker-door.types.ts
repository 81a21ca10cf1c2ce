import type { IncomingHttpHeaders } from 'node:http';

/** A worker on a host without a database, by the token that it shows. */
export interface WorkerIdentity {
  readonly tokenId: string;
  readonly tokenHash: string;
  /** Name of the token; its workers' hosts are called `<name>:<host>`. */
  readonly name: string;
  /** Whose tasks the token opens. */
  readonly pools: readonly string[];
}

export interface WorkerDoor {
  /** Throws AppError missing_api_key, invalid_api_key, rate_limit_exceeded (too many failures from the address). */
  identify(headers: IncomingHttpHeaders, address: string): Promise<WorkerIdentity>;
}
