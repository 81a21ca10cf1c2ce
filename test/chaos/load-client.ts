import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import type { CallOutcome, OutcomeLog } from './outcome-log.ts';
import { pause } from './pause.ts';
import type { ChaosAccount } from './stack.ts';
import { CHAT_MODEL, TOKEN_PRICE } from './stack.ts';

/** The target of calls, and the accounts that make them. */
export interface CallTarget {
  /** Addresses, read anew for every call. */
  readonly urls: () => readonly string[];
  /** Accounts whose keys are used in turn. */
  readonly accounts: readonly Pick<ChaosAccount, 'key'>[];
  readonly log: OutcomeLog;
  /** Client timeout for an answer, in ms. */
  readonly timeoutMs?: number;
  /** Prompts, used in turn; a short sentence by default. */
  readonly prompts?: readonly [string, ...string[]];
  /** Called at the first bytes of an answer with status 200. */
  readonly onFirstBytes?: () => void;
}

export interface CallOptions extends CallTarget {
  /** Share of streamed calls, 0–1. */
  readonly streamShare: number;
}

/** A call as sent. */
interface Call {
  readonly number: number;
  readonly streamed: boolean;
  /** Time when it was due, by `performance.now()`. */
  readonly dueAt: number;
  readonly idempotencyKey?: string;
}

export interface LoadOptions extends CallOptions {
  readonly perSecond: number;
  /** Maximum connections to one address; further calls wait. */
  readonly connections?: number;
}

export interface RunningLoad {
  /** Stops sending and waits for the calls in progress. */
  stop(): Promise<void>;
}

/** Maximum charge of a call: the whole context and the longest answer. */
const CHARGE_MAX = 32_000n * TOKEN_PRICE.input + 512n * TOKEN_PRICE.output;
const PROMPTS = ['Twenty words about nothing in particular, please.'];
const bodies = new Map<string, Bodies>();

/** Encoded once, so that sending a long prompt takes the client little time. */
interface Bodies {
  readonly whole: Buffer;
  readonly streamed: Buffer;
}

function bodiesOf(prompt: string): Bodies {
  const known = bodies.get(prompt);
  if (known) {
    return known;
  }
  const body = { model: CHAT_MODEL, messages: [{ role: 'user', content: prompt }], max_tokens: 64 };
  const made = {
    whole: Buffer.from(JSON.stringify(body)),
    streamed: Buffer.from(JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } })),
  };
  bodies.set(prompt, made);
  return made;
}

function isStreamed(number: number, { streamShare }: CallOptions): boolean {
  return (number * 0.618_034) % 1 < streamShare;
}

/** Sends calls at a fixed rate, however long the answers take, and records their outcomes. Never repeats a call. */
export function startLoad(options: LoadOptions): RunningLoad {
  const agent = createAgent(options.connections);
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  let sent = 0;
  let stopping = false;
  const tick = () => {
    const due = ((performance.now() - startedAt) * options.perSecond) / 1_000;
    for (; sent < due && !stopping; sent += 1) {
      const dueAt = startedAt + (sent * 1_000) / options.perSecond;
      const call = sendCall(options, agent, {
        number: sent,
        streamed: isStreamed(sent, options),
        dueAt,
      }).then((told) => options.log.add(told));
      const counted = call.finally(() => running.delete(counted));
      running.add(counted);
    }
  };
  const timer = setInterval(tick, 4);
  return {
    stop: async () => {
      stopping = true;
      clearInterval(timer);
      await Promise.all(running);
      await agent.destroy();
    },
  };
}

function createAgent(connections = 1_000): Agent {
  return new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
}

/** Sends `calls` calls at once and waits for all of them. */
export async function sendBurst(options: CallOptions, calls: number): Promise<void> {
  const dueAt = performance.now();
  const numbers = Array.from({ length: calls }, (_, number) => number);
  await sendAll(
    options,
    numbers.map((number) => ({ number, streamed: isStreamed(number, options), dueAt })),
  );
}

/** Sends one call for each Idempotency-Key, all at once, streamed or not as `streamed` says. */
export async function sendKeyed(
  options: CallTarget,
  calls: readonly { readonly idempotencyKey: string; readonly streamed: boolean }[],
): Promise<CallOutcome[]> {
  const dueAt = performance.now();
  return await sendAll(
    options,
    calls.map((call, number) => ({ ...call, number, dueAt })),
  );
}

async function sendAll(options: CallTarget, calls: readonly Call[]): Promise<CallOutcome[]> {
  const agent = createAgent();
  const told = await Promise.all(calls.map((call) => sendCall(options, agent, call)));
  told.forEach((one) => {
    options.log.add(one);
  });
  await agent.destroy();
  return told;
}

/**
 * Runs `clients` closed-loop clients, each of which waits for its answer before it calls again. Their start is spread over `spreadMs`:
 * calls of equal duration would otherwise always arrive all at once.
 */
export function startClients(options: CallOptions, clients: number, spreadMs = 0): RunningLoad {
  const agent = createAgent(clients);
  let number = 0;
  let stopping = false;
  const client = async (place: number) => {
    if (spreadMs > 0) {
      await pause((spreadMs * place) / clients);
    }
    while (!stopping) {
      number += 1;
      const call = { number, streamed: isStreamed(number, options), dueAt: performance.now() };
      options.log.add(await sendCall(options, agent, call));
    }
  };
  const running = Array.from({ length: clients }, (_, place) => client(place));
  return {
    stop: async () => {
      stopping = true;
      await Promise.all(running);
      await agent.destroy();
    },
  };
}

/** Runs {@link startClients} for `milliseconds`. */
export async function saturate(options: CallOptions, clients: number, milliseconds: number): Promise<void> {
  const load = startClients(options, clients);
  await pause(milliseconds);
  await load.stop();
}

/** Runs a load for `milliseconds`. */
export async function runLoad(options: LoadOptions, milliseconds: number): Promise<void> {
  const load = startLoad(options);
  await pause(milliseconds);
  await load.stop();
}

async function sendCall(options: CallTarget, agent: Agent, call: Call): Promise<CallOutcome> {
  const { accounts, onFirstBytes, prompts = PROMPTS } = options;
  const { number, streamed, dueAt, idempotencyKey } = call;
  const urls = options.urls();
  const requestId = `chaos-${randomUUID()}`;
  const finish = (
    facts: Pick<CallOutcome, 'outcome' | 'charge' | 'status' | 'code' | 'message'>,
    { hasRetryAfter = false, isReplay = false } = {},
  ): CallOutcome => ({
    ...{ requestId, account: number % accounts.length, streamed, hasRetryAfter, isReplay, ...facts },
    durationMs: performance.now() - dueAt,
    endedAt: Date.now(),
  });
  let status = 0;
  try {
    const answer = await request(`${urls[number % urls.length]}/api/v1/chat/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        authorization: `Bearer ${accounts[number % accounts.length]!.key}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body: bodiesOf(prompts[number % prompts.length]!)[streamed ? 'streamed' : 'whole'],
      signal: AbortSignal.timeout(options.timeoutMs ?? 60_000),
    });
    status = answer.statusCode;
    const { body } = answer;
    const text = await (onFirstBytes && status === 200 ? textOf(body, onFirstBytes) : body.text());
    if (status !== 200) {
      const error = errorOf(text);
      const hasRetryAfter = answer.headers['retry-after'] !== undefined;
      // a balancer's own error page says nothing about what the process behind it did
      return error === undefined
        ? finish({ outcome: 'broken', charge: CHARGE_MAX, status, code: 'not from the API' })
        : finish({ outcome: 'refused', charge: 0n, status, ...error }, { hasRetryAfter });
    }
    const charge = streamed ? chargeOfStream(text) : chargeOfAnswer(text);
    return charge === undefined
      ? finish({ outcome: 'broken', charge: CHARGE_MAX, status, code: 'stream ended early' })
      : finish(
          { outcome: 'answered', charge, status, code: '' },
          { isReplay: answer.headers['idempotent-replayed'] === 'true' },
        );
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return finish({ outcome: 'broken', charge: CHARGE_MAX, status, code });
  }
}

async function textOf(body: AsyncIterable<Buffer>, onFirstBytes: () => void): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    if (chunks.push(chunk) === 1) {
      onFirstBytes();
    }
  }
  return Buffer.concat(chunks).toString();
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

function price({ prompt_tokens, completion_tokens }: Usage): bigint {
  return BigInt(prompt_tokens) * TOKEN_PRICE.input + BigInt(completion_tokens) * TOKEN_PRICE.output;
}

function chargeOfAnswer(text: string): bigint {
  return price((JSON.parse(text) as { usage: Usage }).usage);
}

/** Returns undefined for an incomplete stream. */
function chargeOfStream(text: string): bigint | undefined {
  if (!text.trimEnd().endsWith('data: [DONE]') || text.includes('"error"')) {
    return undefined;
  }
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'));
  const usage = frames
    .map((frame) => (JSON.parse(frame.slice('data: '.length)) as { usage?: Usage }).usage)
    .findLast((found) => found !== undefined && found !== null);
  return usage ? price(usage) : undefined;
}

/** Reads the product's error envelope; returns undefined for anything else. */
function errorOf(text: string): Required<Pick<CallOutcome, 'code' | 'message'>> | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code: string; message: string } };
    return error && { code: error.code, message: error.message };
  } catch {
    return undefined;
  }
}
