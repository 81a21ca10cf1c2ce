import type { Redis } from 'ioredis';
import type { Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { PausedRoute } from './provider-health.ts';

/** Redis hash with one field per API process, named after it; the value is JSON of {@link CircuitReport}. */
const KEY_NAME = 'circuits';
/** A process that has not reported for this long, in ms, counts as gone. */
const SILENT_MS = 15_000;
/** Expiry of the hash, in ms, so that nothing is left in Redis once all processes are gone. */
const FORGOTTEN_MS = 60_000;

/** The report of one process. */
interface CircuitReport {
  readonly atMs: number;
  readonly resting: readonly PausedRoute[];
}

/** The routes that one process has paused. */
export interface ReplicaCircuits {
  readonly replica: string;
  readonly resting: readonly PausedRoute[];
}

export interface CircuitExchangeParts {
  readonly redis: Redis;
  readonly prefix: string;
  /** Name of this process, unique within the installation. */
  readonly replica: string;
  readonly resting: () => PausedRoute[];
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Shares this process's paused routes with the others, so that operators see those of every process: each has its own circuits. For
 * display only; no decision depends on it.
 */
export class CircuitExchange {
  readonly #parts: CircuitExchangeParts;
  readonly #key: string;
  #loop: Loop | undefined;

  constructor(parts: CircuitExchangeParts) {
    this.#parts = parts;
    this.#key = `${parts.prefix}:${KEY_NAME}`;
  }

  start(everyMs: number): void {
    this.#loop = every(everyMs, () =>
      this.publish().catch((error: unknown) => this.#parts.log.debug({ error }, 'circuit states not shared')),
    );
  }

  /** Publishes the routes paused now. Rejects when Redis does. */
  async publish(): Promise<void> {
    const { redis, replica, resting, clock } = this.#parts;
    const report: CircuitReport = { atMs: clock.now(), resting: resting() };
    await redis.hset(this.#key, replica, JSON.stringify(report));
    await redis.pexpire(this.#key, FORGOTTEN_MS);
  }

  /** Returns the paused routes of each live process, those of this one as of now. Rejects when Redis does. */
  async read(): Promise<ReplicaCircuits[]> {
    const { redis, clock } = this.#parts;
    await this.publish();
    const all = Object.entries(await redis.hgetall(this.#key)).map(
      ([replica, text]) => [replica, JSON.parse(text) as CircuitReport] as const,
    );
    const isAlive = ({ atMs }: CircuitReport) => atMs > clock.now() - SILENT_MS;
    const gone = all.filter(([, report]) => !isAlive(report)).map(([replica]) => replica);
    if (gone.length > 0) {
      await redis.hdel(this.#key, ...gone);
    }
    return all
      .filter(([, report]) => isAlive(report))
      .map(([replica, { resting }]) => ({ replica, resting }))
      .sort((one, other) => (one.replica < other.replica ? -1 : 1));
  }

  /** Stops publishing and removes this process from the hash. */
  async close(): Promise<void> {
    await this.#loop?.close();
    await this.#parts.redis.hdel(this.#key, this.#parts.replica).catch(() => undefined);
  }
}
