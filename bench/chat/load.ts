import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../measure/clients.ts';
import { runAtRate } from '../measure/run-at-rate.ts';
import { type ChatTarget, Connections, type Heard, type Kind } from './connections.ts';

/** Calls of one turn at a target. */
export interface Turn {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** Why calls failed; none but of foreign targets. */
  readonly errors: readonly Error[];
}

export interface Timing {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

/** What became of streams that ran at once. */
export interface Crowd {
  readonly complete: number;
  /** The most that had begun and not ended, at any time. */
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

  /** Waits for a call, whose latency counts from `from`. Throws what it throws, unless the target is foreign. */
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

/** As many calls as `connections` closed-loop clients get through in `seconds`. */
export async function saturate(
  target: ChatTarget,
  kind: Kind,
  connections: number,
  seconds: number,
): Promise<Turn> {
  const until = performance.now() + seconds * 1_000;
  return await closedLoop(target, kind, connections, () => performance.now() < until);
}

/** So many calls of `connections` closed-loop clients. */
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

/** So many calls to each target, so that what is measured runs compiled code. */
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

/** Latency (or time to the first token) of calls sent at a fixed rate, whatever the answers take. */
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

/** So many streams of 20 s, begun at a fixed rate within less time than one takes. A stream that fails is one that is not complete. */
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
  /** Ms of a call that follows others at once: the median. */
  readonly inSequenceMs: number;
  /** Ms of the first call after the pause. */
  readonly firstMs: number;
}

/** One client's calls in sequence, then nothing for `pauseMs`, then one call: of each target, which pause at the same time. */
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

/** What a turn comes to. */
export function timingOf({ seconds, latenciesMs }: Turn): Timing {
  const sorted = [...latenciesMs].sort((a, b) => a - b);
  return {
    perSecond: sorted.length / seconds,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
  };
}
