import { eventually } from '../factories/eventually.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { Fault, UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

let upstream: UpstreamServer;
let gateway: Gateway;

beforeEach(async () => {
  upstream = await startOpenAiUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'up', protocol: 'openai', base_url: upstream.url, timeouts: { first_byte_ms: 1_500 } },
      { id: 'nowhere', protocol: 'openai', base_url: 'http://127.0.0.1:1/v1' },
    ],
    models: [
      model('one/route', [{ provider: 'up', model: 'gpt' }], { maxOutputTokens: 1 }),
      model('to/nowhere', [{ provider: 'nowhere', model: 'x' }]),
    ],
  });
});

afterEach(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function call(account: string, content = 'hello', modelId = 'one/route'): Promise<number> {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-test-account': account },
    body: JSON.stringify({ model: modelId, messages: [{ role: 'user', content }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

const isPoisoned = ({ body }: { body: unknown }) => JSON.stringify(body).includes('poison');

/** Returns the statuses of that many calls, one after the other. */
async function calls(count: number, account: string, content?: string, modelId?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) {
    statuses.push(await call(account, content, modelId));
  }
  return statuses;
}

test.each<[Fault, number]>([
  ['server_error', 50],
  ['rate_limit', 50],
  ['hang_before_headers', 30],
])('keeps what one account provokes (%s) from affecting the others', async (fault, attacks) => {
  upstream.reset({ fault, faultOf: isPoisoned, retryAfter: fault === 'rate_limit' ? '60' : undefined });
  const [attacker, victim] = await Promise.all([
    Promise.all(Array.from({ length: 10 }, () => calls(attacks / 10, 'attacker', 'poison'))),
    calls(attacks, 'victim'),
  ]);
  expect(victim).toEqual(Array(attacks).fill(200));
  expect(attacker.flat()).not.toContain(200);
  // it is rested: not every one of its calls reaches the provider
  expect(upstream.requests.filter(isPoisoned).length).toBeLessThan(attacks);
  expect(await calls(10, 'another')).toEqual(Array(10).fill(200));
});

test('prompts that a filter refuses pause the route for nobody, whatever the status', async () => {
  upstream.reset({ fault: 'content_refused', faultOf: isPoisoned });
  for (const account of ['a', 'b', 'c']) {
    expect(await calls(8, account, 'poison')).toEqual(Array(8).fill(400));
  }
  expect(await call('victim')).toBe(200);
  expect(await call('a')).toBe(200);
});

test('ends a pause met by several accounts with the first of their tries', async () => {
  upstream.reset({ fault: 'rate_limit', retryAfter: '60' });
  await Promise.all(['a', 'b', 'c'].map((account) => call(account)));
  upstream.reset();
  const statuses = await calls(12, 'victim');
  expect(statuses.filter((status) => status === 429)).toHaveLength(9);
  expect(statuses.slice(9)).toEqual([200, 200, 200]);
});

test('rests an unreachable provider for all', async () => {
  await calls(20, 'one', 'x', 'to/nowhere');
  expect(await call('another', 'x', 'to/nowhere')).toBe(503);
});

test('probes a provider that fails for one account, and rests it for all when it is down', async () => {
  upstream.probeStatus = 503;
  upstream.reset({ fault: 'server_error', faultOf: isPoisoned });
  await calls(20, 'one', 'poison');
  await eventually(async () => (await call('another')) === 503);
});
