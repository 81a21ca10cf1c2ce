import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { type Customer, createCustomer } from '../operators/support/customer.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';
import { type Replica, startReplica } from './support/replica.ts';

/** What an official SDK does on its own when its timeout passes: it hangs up and retries, here always at the other replica. */

let upstream: UpstreamServer;
let folder: string;
let first: OperatorServer;
let second: Replica;
let customer: Customer;

beforeAll(async () => {
  upstream = await startOpenAiUpstream();
  folder = temporaryFolder('retries');
  const catalog = join(folder, 'tollgate.yaml');
  await writeFile(
    catalog,
    `
providers: [{ id: openai, protocol: openai, base_url: "${upstream.url}", on_disconnect: abort }]
models:
  - id: acme/small
    endpoints: [chat, messages]
    context_length: 100000
    max_output_tokens: 200
    pricing: { prompt: "0.000001", completion: "0.000002" }
    routes: [{ provider: openai, model: gpt }]
limits: { requests_per_minute: 100000, tokens_per_minute: 100000000, concurrency: 10 }
`,
  );
  first = await startOperatorServer({ redisDatabase: 13, environment: { TOLLGATE_CONFIG: catalog } });
  second = await startReplica(first);
  customer = await createCustomer(first);
});
afterAll(async () => {
  await second?.close();
  await first?.close();
  await upstream?.close();
});

/**
 * Resolves once a retry can find the call that the client left: its replica notices the departure and writes it down, which must not
 * take longer than the pause of an SDK, at least 375 ms. Only a replica that gets no processor time needs this wait.
 */
async function whenFindable(): Promise<void> {
  const found = async () => {
    const { rowCount } = await first.db.database.money.query(
      `SELECT FROM idempotency_keys WHERE account_id = $1 AND state = 'running' AND (joinable_until > now() OR key = $2)`,
      [customer.accountId, KEY],
    );
    return rowCount === 1;
  };
  await eventually(found, 5_000, 'the record of the call that was left');
}

/** Sends the attempts of a call to the two replicas in turn. The provider answers once the second attempt has begun. */
function patientUpstream(): typeof fetch {
  let tries = 0;
  let answer: () => void = () => undefined;
  const retried = new Promise<void>((resolve) => {
    answer = resolve;
  });
  upstream.reset({ gate: () => retried });
  return async (input, init) => {
    tries += 1;
    if (tries > 1) {
      await whenFindable();
      answer();
    }
    const url = new URL(String(input));
    url.host = new URL(tries % 2 === 1 ? first.url : second.url).host;
    return fetch(url, init);
  };
}

async function charges(): Promise<string[]> {
  const { rows } = await first.db.database.money.query(
    'SELECT status, charge::text FROM generations WHERE account_id = $1 AND charge > 0',
    [customer.accountId],
  );
  return rows.map((row: { status: string; charge: string }) => `${row.status} ${row.charge}`);
}

const ASK = { model: 'acme/small', max_tokens: 50, messages: [{ role: 'user' as const, content: 'hello' }] };
const KEY = 'call-1';
/** Long enough that the first attempt has reached the provider. */
const TIMEOUT_MS = 2_000;

test.each([
  ['without a key', {}],
  ['with an Idempotency-Key', { 'Idempotency-Key': KEY }],
])(
  'openai retries by itself after a timeout, %s: one provider call, one charge, one answer',
  async (_, headers) => {
    const client = new OpenAI({
      baseURL: `${first.url}/api/v1`,
      apiKey: customer.secret,
      timeout: TIMEOUT_MS,
      fetch: patientUpstream(),
    });
    const before = await charges();
    // a timeout for the retry as well would only repeat the same case
    const answer = await client.chat.completions.create(ASK, { headers, maxRetries: 5 });
    expect(answer.choices[0]?.message.content).toContain('quick brown fox');
    expect(upstream.requests).toHaveLength(1);
    await eventually(async () => (await charges()).length > before.length, 30_000, 'the charge');
    const [charge, ...others] = (await charges()).slice(before.length);
    expect(others).toEqual([]);
    expect(charge).toMatch(/^completed /);
  },
);

test('anthropic retries by itself after a timeout: one provider call, one answer', async () => {
  const client = new Anthropic({
    baseURL: `${first.url}/vendorx`,
    apiKey: customer.secret,
    timeout: TIMEOUT_MS,
    maxRetries: 5,
    fetch: patientUpstream(),
  });
  const answer = await client.messages.create(ASK);
  expect(answer.content[0]).toMatchObject({ type: 'text' });
  expect(upstream.requests).toHaveLength(1);
});
