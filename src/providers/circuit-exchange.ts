import type { Redis } from 'ioredis';
import type { Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { RestingRoute } from './provider-health.ts';

/** What each process of the API knows, by its name; a field is JSON of {@link Told}. */
const KEY_NAME = 'circuits';
/** A process that said nothing for this long, in ms, is gone. */
const SILENT_MS = 15_000;
/** Nothing is left in Redis where no process is. */
const FORGOTTEN_MS = 60_000;

interface Told {
  readonly atMs: number;
  readonly resting: readonly RestingRoute[];
}

/** What one process lets rest. */
export interface ReplicaCircuits {
  readonly replica: string;
  readonly resting: readonly RestingRoute[];
}

export interface CircuitExchangeParts {
  readonly redis: Redis;
  readonly prefix: string;
  /** Names this process among those of the installation. */
  readonly replica: string;
  readonly resting: () => RestingRoute[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Tells operators of every process what this one lets rest: each has circuits of its own. For people only, nothing is decided by it. */
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
      this.tell().catch((error: unknown) => this.#parts.log.debug({ error }, 'circuits were not told')),
    );
  }

  /** Says what rests now. Rejects when Redis does. */
  async tell(): Promise<void> {
    const { redis, replica, resting, clock } = this.#parts;
    const told: Told = { atMs: clock.now(), resting: resting() };
    await redis.hset(this.#key, replica, JSON.stringify(told));
    await redis.pexpire(this.#key, FORGOTTEN_MS);
  }

  /** What each process that is alive lets rest, this one as of now. Rejects when Redis does. */
  async read(): Promise<ReplicaCircuits[]> {
    const { redis, clock } = this.#parts;
    await this.tell();
    const all = Object.entries(await redis.hgetall(this.#key)).map(
      ([replica, text]) => [replica, JSON.parse(text) as Told] as const,
    );
    const isAlive = ({ atMs }: Told) => atMs > clock.now() - SILENT_MS;
    const gone = all.filter(([, told]) => !isAlive(told)).map(([replica]) => replica);
    if (gone.length > 0) {
      await redis.hdel(this.#key, ...gone);
    }
    return all
      .filter(([, told]) => isAlive(told))
      .map(([replica, { resting }]) => ({ replica, resting }))
      .sort((one, other) => (one.replica < other.replica ? -1 : 1));
  }

  /** Takes this process off the list. */
  async close(): Promise<void> {
    await this.#loop?.close();
    await this.#parts.redis.hdel(this.#key, this.#parts.replica).catch(() => undefined);
  }
}
