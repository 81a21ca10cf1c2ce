import { Writable } from 'node:stream';
import pg from 'pg';
import { pino } from 'pino';
import { Admission } from '../../src/invocation/admission.ts';
import { chatRoutes } from '../../src/invocation/chat.routes.ts';
import { HiddenOverhead } from '../../src/invocation/hidden-overhead.ts';
import { InFlight } from '../../src/invocation/in-flight.ts';
import { InvocationService } from '../../src/invocation/invocation.service.ts';
import { DEFAULT_INVOCATION_SETTINGS as settings } from '../../src/invocation/invocation.types.ts';
import { messagesRoutes } from '../../src/invocation/messages.routes.ts';
import { RouteRunner } from '../../src/invocation/route-runner.ts';
import type { Hold, HoldRequest, Ledger, MeteredSoFar, Settlement } from '../../src/ledger/ledger.types.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { EventLoopQueue } from '../../src/lib/event-loop-queue.ts';
import { newUuid, parsePublicId } from '../../src/lib/ids.ts';
import { type NanoUsd, parseUsd } from '../../src/lib/money.ts';
import { ProviderHealth } from '../../src/providers/provider-health.ts';
import { ProviderRegistry } from '../../src/providers/provider-registry.ts';
import { providerSettingsSchema } from '../../src/providers/provider-settings.ts';
import { startTestServer, type TestServer } from '../api/support/test-server.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { testLedger } from '../factories/ledger.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import { ReplayUpstream } from '../factories/upstream-replay.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { model } from './gateway.ts';

/** Appear in prompts and completions and must appear nowhere else. */
const PROMPT_CANARY = 'canary-prompt-7f3a';
const COMPLETION_CANARY = 'canary-completion-91bc';

/** The server creates its database itself, after it was given its routes. */
class LateLedger implements Ledger {
  target: Ledger | undefined;
  readonly #get = (): Ledger => this.target!;
  reserve = (request: HoldRequest, signal?: AbortSignal) => this.#get().reserve(request, signal);
  requireFunds = (accountId: string, apiKeyId: string, amount?: NanoUsd) =>
    this.#get().requireFunds(accountId, apiKeyId, amount);
  extend = (hold: Hold, amount: NanoUsd) => this.#get().extend(hold, amount);
  settle = (settlement: Settlement) => this.#get().settle(settlement);
  keepAlive = (hold: Hold, metered: () => MeteredSoFar) => this.#get().keepAlive(hold, metered);
}

/** Records how often prompts were counted. */
class CountedTurns extends EventLoopQueue {
  runs = 0;
  override run<T>(accountId: string, steps: Iterator<unknown, T>): Promise<T> {
    this.runs += 1;
    return super.run(accountId, steps);
  }
}

const turns = new CountedTurns();
let upstream: UpstreamServer;
/** A provider that answers what it is told, such as a message that quotes a prompt which it has cut. */
let quoting: ReplayUpstream;
let server: TestServer;
let key: TestKey;
let providers: ProviderRegistry;
let service: InvocationService;
let logged = '';

beforeAll(async () => {
  [upstream, quoting] = await Promise.all([startOpenAiUpstream(), new ReplayUpstream().start()]);
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged += String(chunk);
      done();
    },
  });
  const log = pino({ level: 'trace' }, destination);
  const ledger = new LateLedger();
  providers = new ProviderRegistry(
    [
      { id: 'openai', protocol: 'openai', base_url: upstream.url, api_key: 'sk-upstream-key' },
      { id: 'builtin', protocol: 'builtin' },
      { id: 'quoting', protocol: 'openai', base_url: quoting.url },
    ].map((one) => providerSettingsSchema.parse(one)),
  );
  const models = [
    model('acme/small', [{ provider: 'openai', model: 'gpt' }]),
    model('acme/builtin', [{ provider: 'builtin', model: 'builtin' }]),
    model('acme/quoting', [
      { provider: 'quoting', model: 'gpt' },
      { provider: 'openai', model: 'gpt' },
    ]),
  ];
  const source = { invocable: (id: string) => models.find((one) => one.id === id)! };
  const admission = new Admission({
    ledger,
    models: source,
    providers,
    clock,
    log,
    loopQueue: turns,
    overhead: new HiddenOverhead({ exchange: async () => [] }, log),
    settings,
  });
  const runner = new RouteRunner(providers, new ProviderHealth(clock), clock);
  service = new InvocationService(admission, runner, new InFlight(), settings);
  const routes = { service, bodyBytesMax: 1_000_000 };
  server = await startTestServer({
    extraRoutes: [...chatRoutes(routes), ...messagesRoutes(routes)],
    log,
    aliases: {
      paths: { '/v1/messages': '/vendorx/v1/messages' },
      headers: { 'anthropic-version': 'vendorx-version' },
    },
  });
  ledger.target = testLedger(server.database);
  const account = await createAccount(server.database, { credits: '1.00' });
  key = await createKey(server.database, account.id, { role: 'owner' });
});

afterAll(async () => {
  await service?.drain(100);
  await server?.close();
  await providers?.close();
  await Promise.all([upstream?.close(), quoting?.close()]);
});

const ASK = {
  model: 'acme/small',
  max_tokens: 100,
  messages: [{ role: 'user', content: `hello ${PROMPT_CANARY}` }],
};

function chat(body: object = {}, headers: Record<string, string> = {}) {
  return server.call('POST', '/api/v1/chat/completions', {
    key: key.secret,
    body: { ...ASK, ...body },
    headers,
  });
}

async function generation(id: string) {
  return (await server.call('GET', `/api/v1/generation?id=${id}`, { key: key.secret })).json.data;
}

async function remaining(): Promise<string> {
  return (await server.call('GET', '/api/v1/credits', { key: key.secret })).json.data.remaining_credits;
}

test('agrees to the nano-dollar in a call, its generation and its charge', async () => {
  const before = Number(await remaining());
  const { json, headers } = await chat();
  expect(json.id).toBe(headers.get('x-generation-id'));
  expect(await generation(json.id)).toMatchObject({
    status: 'completed',
    model: 'acme/small',
    endpoint: '/api/v1/chat/completions',
    charged_amount: '0.000038',
    usage: { input_tokens: 20, output_tokens: 9 },
    usage_source: 'provider',
    error: null,
  });
  expect((before - Number(await remaining())).toFixed(9)).toBe('0.000038000');
});

test('has recorded the charge by the time the client sees [DONE]', async () => {
  const { text, headers } = await chat({ stream: true });
  expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect(await generation(headers.get('x-generation-id')!)).toMatchObject({
    charged_amount: '0.000038',
    streamed: true,
  });
});

test('records a failed call free of charge', async () => {
  upstream.reset({ fault: 'unauthorized' });
  const before = await remaining();
  const failed = await chat({}, { 'x-request-id': 'my-failed-call' });
  upstream.reset();
  expect(failed.status).toBe(502);
  expect(failed.headers.get('x-generation-id')).toMatch(/^gen-/);
  expect(await generation('my-failed-call')).toMatchObject({
    status: 'failed',
    charged_amount: '0.00',
    error: { code: 'provider_error' },
  });
  expect(await remaining()).toBe(before);
});

function playAnswer(status: number, body: object): void {
  quoting.play('gpt', { status, type: 'application/json', packets: [JSON.stringify(body)] });
}

test.each([
  ['NUL', 'a\0b', 'a�b'],
  ['half a character', 'a\ud83d', 'a�'],
  ['a character across the length that is kept', `${'a'.repeat(1_999)}😀`, `${'a'.repeat(1_999)}�`],
])('records a call whose provider failed with %s in its message', async (_name, message, stored) => {
  playAnswer(500, { error: { message, type: 'server_error' } });
  const [failed, plain] = await Promise.all([chat({ model: 'acme/quoting' }), chat()]);
  expect([failed.status, plain.status]).toEqual([200, 200]);
  expect(await generation(failed.json.id)).toMatchObject({ status: 'completed', charged_amount: '0.000038' });
  const { rows } = await server.database.money.query(
    `SELECT attempts->0->>'said' AS said FROM generations WHERE id = $1`,
    [parsePublicId('generation', failed.json.id)],
  );
  expect(rows).toEqual([{ said: stored }]);
});

test('answers the same Idempotency-Key twice and charges once', async () => {
  const before = Number(await remaining());
  const headers = { 'idempotency-key': 'once' };
  const [first, second] = [await chat({}, headers), await chat({}, headers)];
  expect(second.json).toEqual(first.json);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect((before - Number(await remaining())).toFixed(9)).toBe('0.000038000');
});

test('names the generation of a key at once when the process that charged it died before answering', async () => {
  const headers = { 'idempotency-key': 'died' };
  const first = await chat({}, headers);
  const before = await remaining();
  await server.database.money.query(
    `UPDATE idempotency_keys SET state = 'running', answer = NULL, locked_until = clock_timestamp() - interval '1 s'
      WHERE key = 'died'`,
  );
  for (const again of [await chat({}, headers), await chat({}, headers)]) {
    expect([again.status, again.json.error.code]).toEqual([409, 'idempotency_completed']);
    expect(again.json.error.message).toContain(first.json.id);
  }
  expect(await remaining()).toBe(before);
});

test('serves messages under an alias, with the key in x-api-key', async () => {
  const answer = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: {
      'x-api-key': key.secret,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ...ASK, model: 'acme/builtin' }),
  });
  const body = (await answer.json()) as { id: string; content: { text: string }[] };
  expect(answer.status).toBe(200);
  expect(body.content[0]?.text).toContain('builtin model');
  expect(await generation(body.id)).toMatchObject({ endpoint: '/vendorx/v1/messages', status: 'completed' });
});

test('charges a client that leaves what its answer costs the provider: leaving is not cheaper than staying', async () => {
  upstream.reset({ tokenDelayMs: 100 });
  const controller = new AbortController();
  const response = await fetch(`${server.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ASK, stream: true }),
    signal: controller.signal,
  });
  const id = response.headers.get('x-generation-id')!;
  setTimeout(() => controller.abort(), 350);
  await response.text().catch(() => undefined);
  let row = await generation(id);
  for (let wait = 0; row.status === 'in_progress' && wait < 250; wait += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    row = await generation(id);
  }
  expect(row).toMatchObject({ status: 'cancelled', usage_source: 'provider', charged_amount: '0.000038' });
  expect(row.usage.output_tokens).toBe(9);
  upstream.reset();
});

test('stores and logs no prompt or answer, but stores what a provider says about a failure, without keys', async () => {
  upstream.reset({ words: [COMPLETION_CANARY] });
  expect((await chat()).text).toContain(COMPLETION_CANARY);
  expect((await chat({ stream: true })).text).toContain(COMPLETION_CANARY);
  expect((await chat({ tools: [{ function: { name: 1 } }] })).status).toBe(400);
  for (const fault of ['server_error', 'garbage', 'bad_request', 'cut_stream'] as const) {
    upstream.reset({ words: [COMPLETION_CANARY], fault });
    await chat({ stream: fault === 'cut_stream' });
  }
  const client = new pg.Client({ connectionString: server.test.ownerUrl });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  let stored = '';
  for (const { name } of tables) {
    const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} AS t`);
    stored += rows.map((row) => row.text).join('\n');
  }
  await client.end();
  expect(stored).toContain('acme/small');
  expect(stored).toContain('upstream secret [key]');
  expect(logged).toContain('upstream secret [key]');
  expect(logged).toContain('/api/v1/chat/completions');
  for (const canary of [PROMPT_CANARY, COMPLETION_CANARY, 'sk-upstream-key', key.secret]) {
    expect({ canary, stored: stored.includes(canary), logged: logged.includes(canary) }).toEqual({
      canary,
      stored: false,
      logged: false,
    });
  }
});

test('counts no prompt for accounts without credits, and sees credits bought a moment ago', async () => {
  const account = await createAccount(server.database, { credits: '0.000001' });
  const poor = await createKey(server.database, account.id);
  const capped = await createKey(server.database, account.id, { limitNano: '1000' });
  const body = {
    ...ASK,
    model: 'acme/builtin',
    messages: [{ role: 'user', content: 'so many words '.repeat(7_000) }],
  };
  const ask = (secret: string, changes: object = {}) =>
    server.call('POST', '/api/v1/chat/completions', { key: secret, body: { ...body, ...changes } });
  const { runs } = turns;
  for (const stream of [false, true]) {
    expect(await ask(poor.secret, { stream })).toMatchObject({
      status: 402,
      json: {
        error: {
          code: 'insufficient_credits',
          message: expect.stringMatching(
            /^Insufficient credits: this call needs 0\.\d+ USD and the account has 0\.000001 USD free/,
          ),
        },
      },
    });
  }
  expect(turns.runs).toBe(runs);
  const bought = { accountId: account.id, reference: newUuid(), description: 'Credits' };
  await new Movements(() => server.database.money).adjust(bought, parseUsd('1.00')!);
  expect((await ask(poor.secret)).status).toBe(200);
  expect(turns.runs).toBe(runs + 1);
  expect(await ask(capped.secret)).toMatchObject({
    status: 402,
    json: {
      error: {
        code: 'key_limit_exceeded',
        message: expect.stringMatching(
          /the limit of this API key leaves 0\.000001 USD free\. To continue, raise/,
        ),
      },
    },
  });
  expect(turns.runs).toBe(runs + 1);
});
