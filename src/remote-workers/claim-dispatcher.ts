import type { RelaySource, RelayTicket } from '../../queues/relay-feed.ts';
import { AppError } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import { pause } from '../lib/pause.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { ModelAffinityClaims } from '../tasks/model-affinity-claims.ts';
import type { ClaimedTask, TaskClaimsStore } from '../tasks/task-claims.store.ts';
import type { TaskDispatchStore } from '../tasks/task-dispatch.store.ts';
import { REMOTE_LEASES } from './remote-leases.ts';

export interface ClaimDispatcherParts {
  readonly dispatch: Pick<TaskDispatchStore, 'queued'>;
  readonly claims: Pick<TaskClaimsStore, 'giveBack'>;
  readonly turns: Pick<ModelAffinityClaims, 'claim'>;
  /** Subscribes to wake-ups for waiting tasks until closed. */
  readonly listen: (onWaiting: () => void) => { close(): Promise<void> };
  readonly log: Logger;
}

/** A worker waiting for a task of a pool. */
interface Waiter {
  readonly worker: string;
  readonly tokenId: string;
  /** Models that the worker's engine has loaded. */
  readonly loaded: readonly string[];
  readonly signal: StopSignal;
  /** Whether it got a task or stopped waiting. */
  isServed: boolean;
  take(task: ClaimedTask): void;
  /** Stops waiting. */
  leave(): void;
}

/** Ms between two polls, a fallback for lost signals. */
const LOOK_MS = 1_000;
/** Maximum number of workers that wait at once, per token and in this process. */
const WAITERS_MAX = { token: 100, process: 2_000 };
/** Number of tasks, besides the next one in turn, that a worker with loaded models may choose from. */
const CHOICES = 4;

/**
 * Hands waiting tasks to waiting workers, as fairly across accounts as the relays, with one poll per pool however many workers wait. Also
 * hands out tasks that already have a job in Redis: the claim decides who gets them, and the job then finds nothing to do.
 */
export class ClaimDispatcher {
  readonly #parts: ClaimDispatcherParts;
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #sources = new Map<string, RelaySource>();
  readonly #looks: Loop;
  #isClosing = false;
  #isLookDue = false;
  #signals: { close(): Promise<void> } | undefined;

  constructor(parts: ClaimDispatcherParts) {
    this.#parts = parts;
    this.#looks = every(LOOK_MS, () => this.#lookEverywhere());
  }

  /**
   * Waits for a task of the pool and claims it for the worker. Resolves with undefined when none came within `waitMs` or the signal was
   * aborted. Throws AppError concurrency_limit_exceeded when too many workers wait, service_unavailable when this process is stopping.
   */
  async claim(
    order: { pool: string; worker: string; tokenId: string; loaded: readonly string[] },
    waitMs: number,
    signal: StopSignal,
  ): Promise<ClaimedTask | undefined> {
    this.#admit(order.tokenId);
    let task: ClaimedTask | undefined;
    let end: () => void = () => undefined;
    const taken = new Promise<void>((resolve) => {
      end = resolve;
    });
    const waiter: Waiter = {
      ...order,
      signal,
      isServed: false,
      take: (claimed) => {
        task = claimed;
        end();
      },
      leave: end,
    };
    this.#add(order.pool, waiter);
    this.#signals ??= this.#parts.listen(() => this.#lookSoon());
    this.#lookSoon();
    await pause(waitMs, signal, taken);
    waiter.isServed = true;
    this.#waiting.get(order.pool)?.delete(waiter);
    if (task && signal.aborted) {
      await this.putBack(task);
      return undefined;
    }
    return task;
  }

  /** Returns a claimed task that was not handed to anyone. */
  async putBack({ id, attempt }: ClaimedTask): Promise<void> {
    const back = {
      failures: 0,
      uncounted: true,
      waitMs: 0,
      forgetRun: false,
      reason: 'worker_left',
    } as const;
    await this.#parts.claims.giveBack({ id, attempt, ...back });
  }

  /** Rejects new waiters and releases all current ones: other replicas take over, or this process is about to be replaced. */
  releaseWaiters(): void {
    this.#isClosing = true;
    for (const waiting of this.#waiting.values()) {
      for (const waiter of waiting) {
        waiter.leave();
      }
    }
  }

  async close(): Promise<void> {
    this.releaseWaiters();
    await Promise.all([this.#looks.close(), this.#signals?.close()]);
  }

  #admit(tokenId: string): void {
    if (this.#isClosing) {
      throw new AppError('service_unavailable', 'this instance is stopping', { retryAfterSeconds: 1 });
    }
    const waiters = [...this.#waiting.values()].flatMap((pool) => [...pool]);
    const own = waiters.filter((waiter) => waiter.tokenId === tokenId);
    if (own.length >= WAITERS_MAX.token || waiters.length >= WAITERS_MAX.process) {
      throw new AppError(
        'concurrency_limit_exceeded',
        'too many workers are waiting for tasks; retry later',
        {
          retryAfterSeconds: 1,
        },
      );
    }
  }

  #add(pool: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(pool) ?? new Set();
    this.#waiting.set(pool, waiting.add(waiter));
  }

  /** Requests a poll. However many requests there are, a single poll follows the one in flight. */
  #lookSoon(): void {
    if (!this.#isLookDue) {
      this.#isLookDue = true;
      void this.#looks.runNow();
    }
  }

  async #lookEverywhere(): Promise<void> {
    this.#isLookDue = false;
    const pools = [...this.#waiting].filter(([, waiting]) => waiting.size > 0).map(([pool]) => pool);
    for (const pool of this.#sources.keys()) {
      if (!pools.includes(pool)) {
        this.#sources.delete(pool);
        this.#waiting.delete(pool);
      }
    }
    await Promise.all(
      pools.map((pool) =>
        this.#look(pool).catch((error: unknown) => {
          // The next poll retries.
          this.#parts.log.warn({ error, pool }, 'tasks could not be handed out');
        }),
      ),
    );
  }

  async #look(pool: string): Promise<void> {
    const waiting = this.#waiting.get(pool) ?? new Set();
    const source = this.#sources.get(pool) ?? this.#parts.dispatch.queued(pool);
    this.#sources.set(pool, source);
    const choosy = [...waiting].filter(({ loaded }) => loaded.length > 0).length;
    const turns = waiting.size;
    const tickets = await source.take(turns + choosy * CHOICES, 0);
    const taken = await Promise.all(
      tickets.slice(0, turns).map((ticket) => this.#handOut(ticket, pool, source)),
    );
    const left = tickets.filter(({ id }) => !taken.includes(id));
    if (choosy > 0 && left.length > 0) {
      await source.putBack(left);
    }
  }

  /** Hands out a ticket. Returns the id of the task that a worker got for it; undefined when no worker got one. */
  async #handOut(ticket: RelayTicket, pool: string, source: RelaySource): Promise<string | undefined> {
    const waiting = this.#waiting.get(pool);
    const waiter = [...(waiting ?? [])].find(({ signal }) => !signal.aborted);
    if (!waiter) {
      await source.putBack([ticket]);
      return undefined;
    }
    waiting?.delete(waiter);
    const { worker, loaded } = waiter;
    const { leaseMs } = REMOTE_LEASES;
    // No task loses its turn here: those not handed out are in the next poll.
    const models = loaded.length === 0 ? undefined : loaded;
    const task = await this.#parts.turns.claim({ taskId: ticket.id, worker, leaseMs, pool, loaded: models });
    if (waiter.isServed) {
      await (task && this.putBack(task));
    } else if (task) {
      waiter.take(task);
    } else {
      // Another worker was faster, so this one keeps waiting.
      this.#add(pool, waiter);
    }
    return task?.id;
  }
}
