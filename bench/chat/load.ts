import { Pool } from 'undici';
import { percentile } from '../measure/clients.ts';
import { runAtRate } from '../measure/run-at-rate.ts';

export interface ChatTarget {
  readonly name: string;
  readonly url: string;
  readonly key: string;
}

/** Calls of one turn at a target. */
export interface Turn {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

export interface Timing {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What became of streams that ran at once. */
export interface Crowd {
  readonly complete: number;
  /** The most that had begun and not ended, at any time. */
  readonly atOnce: number;
  readonly firstToken: Timing;
}

/** What is asked: a whole answer, a stream, or a stream whose tokens come a second apart. */
type Kind = 'plain' | 'streamed' | 'slow';

const PATH = '/api/v1/chat/completions';
const PROMPT = 'Write twenty words about nothing in particular, please.';
const BODIES: Readonly<Record<Kind, string>> = {
  plain: bodyOf(PROMPT, false),
  streamed: bodyOf(PROMPT, true),
  slow: bodyOf('Write twenty words about nothing in particular, slowly.', true),
};

/** As many requests as `connections` closed-loop clients get through in `seconds`. */
export async function saturate(target: ChatTarget, connections: number, seconds: number): Promise<Turn> {
  return await withPool(target, connections, async (call) => {
    const until = performance.now() + seconds * 1_000;
    const latenciesMs: number[] = [];
    const client = async () => {
      while (performance.now() < until) {
        const startedAt = performance.now();
        await call('plain');
        latenciesMs.push(performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: connections }, client));
    return { seconds, latenciesMs };
  });
}

/** Latency (or time to the first token) of requests sent at a fixed rate, whatever the answers take. */
export async function atRate(
  target: ChatTarget,
  perSecond: number,
  seconds: number,
  streamed: boolean,
): Promise<Turn> {
  return await withPool(target, 256, async (call) => {
    const latenciesMs: number[] = [];
    await runAtRate(perSecond * seconds, perSecond, async (dueAt) => {
      const { firstAt } = await call(streamed ? 'streamed' : 'plain');
      latenciesMs.push(firstAt - dueAt);
    });
    return { seconds, latenciesMs };
  });
}

/** So many streams of 20 s, begun at a fixed rate within less time than one takes. A stream that fails is one that is not complete. */
export async function crowd(target: ChatTarget, streams: number, perSecond: number): Promise<Crowd> {
  return await withPool(target, streams, async (call) => {
    const latenciesMs: number[] = [];
    let [complete, running, atOnce] = [0, 0, 0];
    const begin = () => {
      running += 1;
      atOnce = Math.max(atOnce, running);
    };
    await runAtRate(streams, perSecond, async (dueAt) => {
      const answer = await call('slow', begin).catch(() => undefined);
      if (answer) {
        running -= 1;
        latenciesMs.push(answer.firstAt - dueAt);
        complete += isComplete(answer.text) ? 1 : 0;
      }
    });
    return { complete, atOnce, firstToken: timingOf([{ seconds: streams / perSecond, latenciesMs }]) };
  });
}

function isComplete(stream: string): boolean {
  return stream.split('"word "').length === 21 && stream.trimEnd().endsWith('data: [DONE]');
}

function bodyOf(content: string, stream: boolean): string {
  return JSON.stringify({ model: 'bench/model', messages: [{ role: 'user', content }], stream });
}

interface Answer {
  /** When the first token was there (the whole answer when it is not streamed), by `performance.now()`. */
  readonly firstAt: number;
  readonly text: string;
}

/** Resolves once all is read; `onFirstToken` hears of the beginning. */
type Call = (kind: Kind, onFirstToken?: () => void) => Promise<Answer>;

async function withPool<T>(
  target: ChatTarget,
  connections: number,
  use: (call: Call) => Promise<T>,
): Promise<T> {
  const pool = new Pool(target.url, { connections });
  const headers = { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' };
  const call: Call = async (kind, onFirstToken) => {
    const answer = await pool.request({ method: 'POST', path: PATH, headers, body: BODIES[kind] });
    let firstAt: number | undefined;
    let text = '';
    for await (const part of answer.body) {
      text += String(part);
      if (kind !== 'plain' && firstAt === undefined && text.includes('word')) {
        firstAt = performance.now();
        onFirstToken?.();
      }
    }
    if (kind === 'plain' && text !== '') {
      firstAt = performance.now();
    }
    if (answer.statusCode !== 200 || firstAt === undefined) {
      throw new Error(`${target.name} answered ${answer.statusCode}`);
    }
    return { firstAt, text };
  };
  return await use(call).finally(() => pool.close());
}

/** What several turns at one target come to. */
export function timingOf(turns: readonly Turn[]): Timing {
  const sorted = turns.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b);
  return {
    perSecond: sorted.length / turns.reduce((sum, { seconds }) => sum + seconds, 0),
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
}
