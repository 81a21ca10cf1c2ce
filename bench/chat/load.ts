import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../measure/clients.ts';
import { runAtRate } from '../measure/run-at-rate.ts';
import { type ChatTarget, Connections, type Heard, type Kind } from './connections.ts';

/** The calls made to a target in one turn. */
export interface Turn {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** Errors of failed calls. Only foreign targets have any. */
  readonly errors: readonly Error[];
}

export interface Timing {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

/** The result of streams that ran at the same time. */
export interface Crowd {
  readonly complete: number;
  /** The most streams in progress at any time. */
  readonly atOnce: number;
  readonly firstToken: Timing;
}

const RATE_CONNECTIONS = 256;
const WARM_UP_CONNECTIONS = 64;

class TurnRecord {
  readonly #target: ChatTarget;
  readonly #latenciesMs: number[] = [];
  readonly #errors: Error[] = [];

  constructor(target: ChatTarget) {
    this.#target = target;
  }

  /** Waits for a call and records its latency counted from `from`. Rethrows its error unless the target is foreign. */
  async add(call: Promise<Heard>, from: number): Promise<void> {
    try {
      this.#latenciesMs.push((await call).firstAt - from);
    } catch (error) {
      if (!this.#target.isForeign) {
        throw error;
      }
      this.#errors.push(error as Error);
    }
  }

  turn(seconds: number): Turn {
    return { seconds, latenciesMs: this.#latenciesMs, errors: this.#errors };
  }
}

/** Makes as many calls as `connections` closed-loop clients complete in `seconds`. */
export async function saturate(
  target: ChatTarget,
  kind: Kind,
  connections: number,
  seconds: number,
): Promise<Turn> {
  const until = performance.now() + seconds * 1_000;
  return await closedLoop(target, kind, connections, () => performance.now() < until);
}

/** Makes the given number of calls with `connections` closed-loop clients. */
export async function callTimes(
  target: ChatTarget,
  kind: Kind,
  connections: number,
  calls: number,
): Promise<Turn> {
  let begun = 0;
  return await closedLoop(target, kind, connections, () => {
    begun += 1;
    return begun <= calls;
  });
}

/** Makes the given number of calls to each target, so that the measurements run compiled code. */
export async function warmUp(
  targets: readonly ChatTarget[],
  calls: number,
  onStep: (text: string) => void,
): Promise<void> {
  for (const target of targets) {
    onStep(`warming up ${target.name}`);
    await callTimes(target, 'instant', WARM_UP_CONNECTIONS, calls);
  }
}

async function closedLoop(
  target: ChatTarget,
  kind: Kind,
  connections: number,
  goesOn: () => boolean,
): Promise<Turn> {
  return await withConnections(target, connections, async (pool) => {
    const begunAt = performance.now();
    const record = new TurnRecord(target);
    const client = async () => {
      while (goesOn()) {
        const startedAt = performance.now();
        await record.add(pool.call(kind), startedAt);
      }
    };
    await Promise.all(Array.from({ length: connections }, client));
    return record.turn((performance.now() - begunAt) / 1_000);
  });
}

/** Measures the latency (or time to the first token) of calls sent at a fixed rate, however long the answers take. */
export async function atRate(
  target: ChatTarget,
  kind: Kind,
  perSecond: number,
  seconds: number,
): Promise<Turn> {
  return await withConnections(target, RATE_CONNECTIONS, async (pool) => {
    const record = new TurnRecord(target);
    await runAtRate(perSecond * seconds, perSecond, async (dueAt) => {
      await record.add(pool.call(kind), dueAt);
    });
    return record.turn(seconds);
  });
}

/** Starts streams of 20 s at a fixed rate, all within less time than one takes. A failed stream counts as not complete. */
export async function crowd(target: ChatTarget, streams: number, perSecond: number): Promise<Crowd> {
  return await withConnections(target, streams, async (pool) => {
    const latenciesMs: number[] = [];
    let [complete, running, atOnce] = [0, 0, 0];
    const begin = () => {
      running += 1;
      atOnce = Math.max(atOnce, running);
    };
    await runAtRate(streams, perSecond, async (dueAt) => {
      const answer = await pool.call('slow', begin).catch(() => undefined);
      if (answer) {
        running -= 1;
        latenciesMs.push(answer.firstAt - dueAt);
        complete += isComplete(answer.text) ? 1 : 0;
      }
    });
    return {
      complete,
      atOnce,
      firstToken: timingOf({ seconds: streams / perSecond, latenciesMs, errors: [] }),
    };
  });
}

export interface AfterPause {
  /** Median latency in ms of calls that follow each other without a pause. */
  readonly inSequenceMs: number;
  /** Latency in ms of the first call after the pause. */
  readonly firstMs: number;
}

/** Makes calls from one client in sequence, pauses for `pauseMs`, then makes one more call. All targets pause at the same time. */
export async function callAfterPause(
  targets: readonly ChatTarget[],
  calls: number,
  pauseMs: number,
): Promise<AfterPause[]> {
  const clients = [];
  for (const target of targets) {
    const pool = new Connections(target, 1);
    const latenciesMs: number[] = [];
    for (let call = 0; call < calls; call += 1) {
      latenciesMs.push(await msOfCall(pool));
    }
    const { p50Ms: inSequenceMs } = timingOf({ seconds: 1, latenciesMs, errors: [] });
    clients.push({ pool, inSequenceMs });
  }
  await delay(pauseMs);
  const found: AfterPause[] = [];
  for (const { pool, inSequenceMs } of clients) {
    found.push({ inSequenceMs, firstMs: await msOfCall(pool) });
    pool.close();
  }
  return found;
}

async function msOfCall(pool: Connections): Promise<number> {
  const startedAt = performance.now();
  await pool.call('instant');
  return performance.now() - startedAt;
}

function isComplete(stream: string): boolean {
  return stream.split('"word "').length === 21 && stream.trimEnd().endsWith('data: [DONE]');
}

async function withConnections<T>(
  target: ChatTarget,
  most: number,
  use: (pool: Connections) => Promise<T>,
): Promise<T> {
  const pool = new Connections(target, most);
  return await use(pool).finally(() => pool.close());
}

/** Summarizes a turn. */
export function timingOf({ seconds, latenciesMs }: Turn): Timing {
  const sorted = [...latenciesMs].sort((a, b) => a - b);
  return {
    perSecond: sorted.length / seconds,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
  };
}
