import { randomUUID } from 'node:crypto';
import { Inspector } from '../../bench/measure/inspector.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { ADMIN_TOKEN, type RunningService, startService } from './running-service.ts';

/** Number of calls of 100 kB, all rejected for lack of credits; `npm run test:memory` makes 2,500, and four times as many after them. */
const CALLS = Number(process.env.TEST_MEMORY_UNPAID ?? 100);
const AT_ONCE = 16;
const TIMEOUT_MS = 60_000 + CALLS * 200;
/** Limit for caches without text, regardless of the number of calls. */
const GROWN_BYTES_MAX = 16_000_000;

const CATALOG = JSON.stringify({
  providers: [{ id: 'builtin', protocol: 'builtin' }],
  models: [
    {
      ...{ id: 'text', endpoints: ['chat'], context_length: 128_000, max_output_tokens: 1_000 },
      pricing: { prompt: '0.00000001', completion: '0.00000002' },
      routes: [{ provider: 'builtin', model: 'builtin-small' }],
    },
  ],
  limits: { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, concurrency: 100 },
});

let service: RunningService;
let inspector: Inspector;
let key: string;

beforeAll(async () => {
  const port = await choosePort();
  const apiOptions = ['--max-old-space-size=512', `--inspect=127.0.0.1:${port}`];
  service = await startService({ apiOptions, catalog: CATALOG });
  inspector = await Inspector.connect(port);
  const response = await fetch(`${service.url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'without credits', credits: '0' }),
  });
  ({ key } = (await response.json()) as { key: string });
});

afterAll(async () => {
  inspector?.close();
  await service?.stop();
});

/** Sends 100 kB with a word that no other call has: V8 keeps a match of it as a slice that retains the whole string. */
async function call(): Promise<number> {
  const word = randomUUID().replace(/[^a-f]/g, '');
  const content = `${word} ${'as I said before '.repeat(5_900)}${word}`;
  const response = await fetch(`${service.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text', messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response.status;
}

/** Makes `count` calls and returns how many were answered with each status. */
async function callsOf(count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let begun = 0;
  const client = async () => {
    for (; begun < count; ) {
      begun += 1;
      const status = await call();
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return statuses;
}

test(
  'unpaid calls leave nothing in a heap of 512 MB, however many there are',
  async () => {
    await callsOf(AT_ONCE);
    const heaps = [await inspector.collectedHeap()];
    for (const count of [CALLS, 4 * CALLS]) {
      expect(await callsOf(count)).toEqual({ 402: count });
      heaps.push(await inspector.collectedHeap());
    }
    const [before = 0, ...after] = heaps;
    expect(Math.max(...after) - before).toBeLessThan(GROWN_BYTES_MAX);
  },
  TIMEOUT_MS,
);
