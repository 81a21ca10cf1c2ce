import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { hostileValue, withMember } from '../factories/hostile-json.ts';
import { testLedger } from '../factories/ledger.ts';
import { ReplayUpstream } from '../factories/upstream-replay.ts';
import { packetsOf, type Row, readRows } from '../replay/row.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { chatUsage, costOf, messageUsage, PRICING, type Reported, responseUsage } from './client-usage.ts';
import { Gateway, model } from './gateway.ts';

/**
 * Changes known answers of providers at random places and reads the result with clients' own libraries. Whatever a provider sends, a call is
 * recorded, a client gets an answer or one of our errors, and what the library says an answer used is what it cost.
 */

/** `HOSTILE_ANSWERS=16000 npm test -- test/invocation/hostile-answers.test.ts` plays that many. */
const ANSWERS = Number(process.env.HOSTILE_ANSWERS ?? 400);
const PER_ANSWER_MS = 1_000;

const PROTOCOLS = ['openai', 'anthropic', 'responses'];

let database: TestDatabase;
let upstream: ReplayUpstream;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  accountId = (await createAccount(database.database, { credits: '1000000.00' })).id;
  const key = await createKey(database.database, accountId);
  upstream = await new ReplayUpstream().start();
  gateway = await Gateway.start({
    providers: PROTOCOLS.map((protocol) => ({ id: protocol, protocol, base_url: upstream.url })),
    models: PROTOCOLS.map((protocol) =>
      model(`to/${protocol}`, [{ provider: protocol, model: protocol }], { pricing: PRICING }),
    ),
    books: {
      ledger: testLedger(database.database),
      caller: { accountId, apiKeyId: key.id, allowedModels: null, spendable: 0n as never },
    },
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0, timeout: 10_000 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0, timeout: 10_000 });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
  await database?.close();
});

const content = 'hello '.repeat(12);
const messages = [{ role: 'user' as const, content }];
const tools = [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }];
const asked = { stream_options: { include_usage: true }, messages, tools };
const limited = { max_tokens: 2_000, messages };

/** The ways clients call, each with its library's own way of putting an answer together. */
const WAYS = {
  chat: async (id: string) =>
    chatUsage((await openai.chat.completions.create({ model: id, messages, tools })).usage),
  'streamed chat': async (id: string) =>
    chatUsage((await openai.chat.completions.stream({ model: id, ...asked }).finalChatCompletion()).usage),
  response: async (id: string) =>
    responseUsage((await openai.responses.create({ model: id, input: content })).usage),
  'streamed response': async (id: string) =>
    responseUsage((await openai.responses.stream({ model: id, input: content }).finalResponse()).usage),
  message: async (id: string) =>
    messageUsage((await anthropic.messages.create({ model: id, ...limited })).usage),
  'streamed message': async (id: string) =>
    messageUsage((await anthropic.messages.stream({ model: id, ...limited }).finalMessage()).usage),
};
type Way = keyof typeof WAYS;

const change = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('set', 'set', 'set', 'drop', 'repeat', 'swap', 'cut'),
  place: fc.nat(),
  value: hostileValue,
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(events: readonly string[], { at, kind, place, value }: Change): readonly string[] {
  const index = at % Math.max(1, events.length);
  const [event, target] = [events[index], place % Math.max(1, events.length)];
  if (event === undefined) {
    return events;
  }
  switch (kind) {
    case 'set':
      return events.with(index, withMember(event, place, value));
    case 'drop':
      return events.toSpliced(index, 1);
    case 'repeat':
      return events.toSpliced(target, 0, event);
    case 'swap':
      return events.with(index, events[target]!).with(target, event);
    default:
      return events.slice(0, index);
  }
}

/** Returns an answer with changes to its JSON, or to the order and the content of its events. */
function hostile(row: Row, changes: readonly Change[]): Row {
  if (row.json !== undefined) {
    return {
      ...row,
      json: changes.reduce((json, { place, value }) => withMember(json, place, value), row.json),
    };
  }
  return row.events ? { ...row, events: changes.reduce(changed, row.events) } : row;
}

/** The library for chat knows no custom tools in streams; the one for messages fails at an input that is cut and no JSON. */
function isReadable(row: Row, way: Way): boolean {
  if (way === 'streamed chat') {
    return !JSON.stringify(row).includes('custom');
  }
  return way !== 'streamed message' || !['max_tokens', 'refusal'].includes(row.messages?.finish ?? '');
}

/** Bytes in place of others, anywhere in an answer. */
const noise = fc.record({
  at: fc.nat(),
  bytes: fc.nat({ max: 40 }),
  instead: fc.constantFrom(
    '',
    '\n',
    '\n\n',
    '\r',
    'data: ',
    '\0',
    '{',
    '"',
    '\xff',
    'event: error\n',
    '[DONE]',
  ),
});
type Noise = typeof noise extends fc.Arbitrary<infer T> ? T : never;

function withNoise(packets: readonly Buffer[], { at, bytes, instead }: Noise): Buffer[] {
  const all = Buffer.concat(packets);
  const place = at % (all.length + 1);
  const before = all.subarray(0, place);
  return [before, Buffer.concat([Buffer.from(instead, 'latin1'), all.subarray(place + bytes)])];
}

const rows = readRows();
const cases = fc
  .record({
    row: fc.constantFrom(...rows),
    changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
    atOnce: fc.boolean(),
    noise: fc.option(noise, { freq: 2, nil: undefined }),
  })
  .filter(({ row, way }) => isReadable(row, way));

function play({ protocol, status, type, ...row }: Row, atOnce: boolean, noisy: Noise | undefined): void {
  const exact = packetsOf({ protocol, ...row });
  const packets = noisy ? withNoise(exact, noisy) : exact;
  upstream.play(protocol, {
    ...(status ? { status } : {}),
    type: type ?? (row.json === undefined ? 'text/event-stream' : 'application/json'),
    packets: atOnce ? [Buffer.concat(packets)] : packets,
    pauseMs: 0,
  });
}

/** Returns what a call used, or the code of the error that the client got. Any other failure is the gateway's. */
async function ask(way: Way, id: string): Promise<Reported | string> {
  try {
    return await WAYS[way](id);
  } catch (error) {
    const isOurs = error instanceof OpenAI.APIError || error instanceof Anthropic.APIError;
    const body = isOurs
      ? (error.error as { code?: string; error?: { code?: string } } | undefined)
      : undefined;
    const code = body?.code ?? body?.error?.code;
    if (code === undefined || code === 'internal_error') {
      throw error;
    }
    return code;
  }
}

async function recorded(): Promise<{
  readonly calls: number;
  readonly status: string;
  readonly charge: string;
}> {
  await eventually(async () => gateway.inFlight.size === 0, 30_000, 'the end of the call');
  const { rows: found } = await database.database.money.query(
    `SELECT status, charge::text, count(*) OVER ()::int AS calls
       FROM generations WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`,
    [accountId],
  );
  return found[0] ?? { calls: 0, status: 'none', charge: '0' };
}

test(
  `${ANSWERS} hostile answers are recorded, and read by clients' libraries as they were charged`,
  async () => {
    const seen = new Set<string>();
    const property = fc.asyncProperty(cases, async ({ row, changes, way, atOnce, noise: noisy }) => {
      play(hostile(row, changes), atOnce, noisy);
      const { calls } = await recorded();
      const got = await ask(way, `to/${row.protocol}`);
      const last = await recorded();
      expect(last.calls).toBe(calls + 1);
      if (typeof got !== 'string') {
        expect(last).toMatchObject({ status: 'completed', charge: costOf(got).toString() });
      }
      seen.add(typeof got === 'string' ? got : last.status);
    });
    await fc.assert(property, { numRuns: ANSWERS });
    expect([...seen]).toEqual(expect.arrayContaining(['completed', 'provider_error']));
  },
  60_000 + ANSWERS * PER_ANSWER_MS,
);
