import type { RelaySource, RelayTicket } from '../../queues/relay-feed.ts';
import { AppError } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import { pause } from '../lib/pause.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { PreferringClaims } from '../tasks/preferring-claims.ts';
import type { ClaimedTask, TaskClaimsStore } from '../tasks/task-claims.store.ts';
import type { TaskDispatchStore } from '../tasks/task-dispatch.store.ts';
import { REMOTE_LEASES } from './remote-leases.ts';

export interface ClaimDeskParts {
  readonly dispatch: Pick<TaskDispatchStore, 'queued'>;
  readonly claims: Pick<TaskClaimsStore, 'giveBack'>;
  readonly turns: Pick<PreferringClaims, 'claim'>;
  /** Hears that tasks wait, until closed. */
  readonly listen: (onWaiting: () => void) => { close(): Promise<void> };
  readonly log: Logger;
}

/** A worker that waits for a task of a pool. */
interface Waiter {
  readonly worker: string;
  readonly tokenId: string;
  /** Models that its engine has loaded. */
  readonly loaded: readonly string[];
  readonly signal: StopSignal;
  /** It got a task, or waits no longer. */
  isServed: boolean;
  take(task: ClaimedTask): void;
  /** Waits no longer. */
  leave(): void;
}

/** Ms between two looks: the net under signals that get lost. */
const LOOK_MS = 1_000;
/** Workers of one token that may wait at once, and of all in this process. */
const WAITERS_MAX = { token: 100, process: 2_000 };
/** Tasks beside the one whose turn it is that a worker with models loaded may choose from. */
const CHOICES = 4;

/**
 * Hands waiting tasks to workers that wait for them, fairly over accounts as the relays do, with one look per pool however many wait.
 * A task that already has a job in Redis is handed out, too: the claim decides, and the job finds nothing to do.
 */
export class ClaimDesk {
  readonly #parts: ClaimDeskParts;
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #sources = new Map<string, RelaySource>();
  readonly #looks: Loop;
  #isClosing = false;
  #isLookDue = false;
  #signals: { close(): Promise<void> } | undefined;

  constructor(parts: ClaimDeskParts) {
    this.#parts = parts;
    this.#looks = every(LOOK_MS, () => this.#lookEverywhere());
  }

  /**
   * A task of the pool, claimed for the worker; undefined when none came within that many ms or the signal aborted. Throws AppError
   * concurrency_limit_exceeded when too many wait, service_unavailable when this process stops.
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

  /** Gives a task back that nobody was told of. */
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

  /** Nobody waits here any more: there are other replicas, or this process is about to be replaced. */
  sendAway(): void {
    this.#isClosing = true;
    for (const waiting of this.#waiting.values()) {
      for (const waiter of waiting) {
        waiter.leave();
      }
    }
  }

  async close(): Promise<void> {
    this.sendAway();
    await Promise.all([this.#looks.close(), this.#signals?.close()]);
  }

  #admit(tokenId: string): void {
    if (this.#isClosing) {
      throw new AppError('service_unavailable', 'this instance is stopping', { retryAfterSeconds: 1 });
    }
    const waiters = [...this.#waiting.values()].flatMap((pool) => [...pool]);
    const own = waiters.filter((waiter) => waiter.tokenId === tokenId);
    if (own.length >= WAITERS_MAX.token || waiters.length >= WAITERS_MAX.process) {
      throw new AppError('concurrency_limit_exceeded', 'too many workers wait for tasks with this token', {
        retryAfterSeconds: 1,
      });
    }
  }

  #add(pool: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(pool) ?? new Set();
    this.#waiting.set(pool, waiting.add(waiter));
  }

  /** However many ask, one look follows the one in flight. */
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
          // the next look is the net
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

  /** The id of the task that a worker got for the ticket; undefined where none did. */
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
    // nobody's turn is lost here: what was not handed out is in the next look
    const models = loaded.length === 0 ? undefined : loaded;
    const task = await this.#parts.turns.claim({ taskId: ticket.id, worker, leaseMs, pool, loaded: models });
    if (waiter.isServed) {
      await (task && this.putBack(task));
    } else if (task) {
      waiter.take(task);
    } else {
      // somebody else was faster: the worker waits on
      this.#add(pool, waiter);
    }
    return task?.id;
  }
}
