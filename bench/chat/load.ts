import { Pool } from 'undici';
import { percentile } from '../measure/clients.ts';

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

const SLOW_MESSAGES = [{ role: 'user', content: 'Write twenty words about nothing in particular, slowly.' }];
const MESSAGES = [{ role: 'user', content: 'Write twenty words about nothing in particular, please.' }];

/** As many requests as `connections` closed-loop clients get through in `seconds`. */
export async function saturate(target: ChatTarget, connections: number, seconds: number): Promise<Turn> {
  return await withPool(target, connections, async (call) => {
    const until = performance.now() + seconds * 1_000;
    const latenciesMs: number[] = [];
    const client = async () => {
      while (performance.now() < until) {
        const startedAt = performance.now();
        await call(false);
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
    const running: Promise<void>[] = [];
    const startedAt = performance.now();
    const count = perSecond * seconds;
    for (let sent = 0; sent < count; sent += 1) {
      const due = startedAt + (sent * 1_000) / perSecond;
      const wait = due - performance.now();
      if (wait > 0) {
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
      // counted from when it was due: a sender that falls behind must not hide the delay
      running.push(call(streamed).then((firstByteAt) => void latenciesMs.push(firstByteAt - due)));
    }
    await Promise.all(running);
    return { seconds, latenciesMs };
  });
}

/** So many streams of 20 s, begun at a fixed rate within less time than one takes. */
export async function crowd(target: ChatTarget, streams: number, perSecond: number): Promise<Crowd> {
  const pool = new Pool(target.url, { connections: streams });
  const body = JSON.stringify({ model: 'bench/model', messages: SLOW_MESSAGES, stream: true });
  const latenciesMs: number[] = [];
  let [complete, running, atOnce] = [0, 0, 0];
  const one = async () => {
    const startedAt = performance.now();
    const answer = await pool.request({ method: 'POST', path: PATH, headers: headersOf(target), body });
    let text = '';
    for await (const part of answer.body) {
      if (text === '' && answer.statusCode === 200) {
        latenciesMs.push(performance.now() - startedAt);
        running += 1;
        atOnce = Math.max(atOnce, running);
      }
      text += String(part);
    }
    running -= answer.statusCode === 200 ? 1 : 0;
    complete += text.split('"word "').length === 21 && text.trimEnd().endsWith('data: [DONE]') ? 1 : 0;
  };
  const begun: Promise<void>[] = [];
  for (let stream = 0; stream < streams; stream += 1) {
    begun.push(one().catch(() => undefined));
    await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
  }
  await Promise.all(begun);
  await pool.close();
  return { complete, atOnce, firstToken: timingOf([{ seconds: streams / perSecond, latenciesMs }]) };
}

const PATH = '/api/v1/chat/completions';

function headersOf({ key }: ChatTarget): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

type Call = (streamed: boolean) => Promise<number>;

/** `call` resolves with the time of the first token (of the whole answer when it is not streamed), once all is read. */
async function withPool<T>(
  target: ChatTarget,
  connections: number,
  use: (call: Call) => Promise<T>,
): Promise<T> {
  const pool = new Pool(target.url, { connections });
  const body = (streamed: boolean) =>
    JSON.stringify({ model: 'bench/model', messages: MESSAGES, stream: streamed });
  const bodies = { plain: body(false), streamed: body(true) };
  const call: Call = async (streamed) => {
    const answer = await pool.request({
      method: 'POST',
      path: PATH,
      headers: headersOf(target),
      body: streamed ? bodies.streamed : bodies.plain,
    });
    let firstAt: number | undefined;
    for await (const part of answer.body) {
      if (firstAt === undefined && (!streamed || String(part).includes('word'))) {
        firstAt = performance.now();
      }
    }
    if (answer.statusCode !== 200 || firstAt === undefined) {
      throw new Error(`${target.name} answered ${answer.statusCode}`);
    }
    return streamed ? firstAt : performance.now();
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
