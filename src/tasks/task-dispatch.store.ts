import type { RelaySource, RelayTicket } from '../../queues/relay-feed.ts';
import { requestIdOfCall } from '../ledger/stored-call.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import {
  forgetWorker,
  liveSlots,
  putBackTasks,
  registerSlots,
  takeGenerated,
  takeQueued,
} from './task-dispatch.sql.ts';

const NO_ACCOUNT = '00000000-0000-0000-0000-000000000000';
/** Accounts per look; if more are waiting, the next look continues after them. */
const ACCOUNTS_PER_LOOK = 200;
/** Ms after which a silent worker no longer counts. */
export const WORKER_SILENT_MS = 20_000;

/** The waiting tasks as the relay sees them, and the capacity of the live workers. */
export class TaskDispatchStore {
  readonly #cells: Cells;
  readonly #accountInFlightMax: number;

  /** `accountInFlightMax` is the maximum number of one account's tasks that are dispatched or running at once, per engine pool. */
  constructor(cells: Cells, accountInFlightMax: number) {
    this.#cells = cells;
    this.#accountInFlightMax = accountInFlightMax;
  }

  /** Returns the source of tasks that wait for an engine of the pool. */
  queued(enginePool: string): RelaySource {
    return this.#source((after, limit, lostAfterMs) =>
      run<TakenRow>(this.#cells.sole.money, takeQueued, [
        after,
        ACCOUNTS_PER_LOOK,
        this.#accountInFlightMax,
        limit,
        lostAfterMs,
        enginePool,
      ]),
    );
  }

  /** Returns the source of tasks that wait for post-processing. */
  generated(): RelaySource {
    return this.#source((after, limit, lostAfterMs) =>
      run<TakenRow>(this.#cells.sole.money, takeGenerated, [
        after,
        ACCOUNTS_PER_LOOK,
        this.#accountInFlightMax,
        limit,
        lostAfterMs,
      ]),
    );
  }

  /** Records how many jobs of each queue a worker can run at once, and drops its other queues. Called with every heartbeat. */
  async registerSlots(worker: string, slots: ReadonlyMap<string, number>): Promise<void> {
    await run(this.#cells.home.money, registerSlots, [worker, [...slots.keys()], [...slots.values()]]);
  }

  /** Removes a worker that shuts down cleanly. */
  async forgetWorker(worker: string): Promise<void> {
    await run(this.#cells.home.money, forgetWorker, [worker]);
  }

  /** Returns how many jobs all live workers can run at once, by queue. */
  async liveSlots(): Promise<ReadonlyMap<string, number>> {
    const rows = await run<{ queue: string; slots: number }>(this.#cells.home.money, liveSlots, [
      WORKER_SILENT_MS,
    ]);
    return new Map(rows.map((row) => [row.queue, row.slots]));
  }

  #source(take: (after: string, limit: number, lostAfterMs: number) => Promise<TakenRow[]>): RelaySource {
    let after = NO_ACCOUNT;
    return {
      take: async (limit, lostAfterMs) => {
        const rows = await take(after, limit, lostAfterMs);
        const [first] = rows;
        after = first?.accounts === ACCOUNTS_PER_LOOK ? (first.last_account ?? NO_ACCOUNT) : NO_ACCOUNT;
        return rows.flatMap(({ id, dispatch, request_id: stored }) =>
          id && dispatch ? [{ id, dispatch, requestId: requestIdOfCall(id, stored) }] : [],
        );
      },
      putBack: async (tickets: readonly RelayTicket[]) => {
        const values = [tickets.map((ticket) => ticket.id), tickets.map((ticket) => ticket.dispatch)];
        await run(this.#cells.sole.money, putBackTasks, values);
      },
    };
  }
}

interface TakenRow {
  /** Null in the single row returned when nothing was taken. */
  id: string | null;
  dispatch: number | null;
  request_id: string | null;
  accounts: number;
  last_account: string | null;
}
