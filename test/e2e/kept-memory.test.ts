import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inspector } from '../../bench/measure/inspector.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { type RunningService, startService } from './running-service.ts';

/** Starts every prompt, because a heap snapshot shows only the first kB of a string. */
const MARKER = 'xqmarkedprompt';
/** Number of measured calls of each kind; `npm run test:memory` makes 2,000. */
const ROUNDS = Number(process.env.TEST_MEMORY_ROUNDS ?? 5);
const TIMEOUT_MS = 120_000 + ROUNDS * 1_000;
/** Memory that would remain if each round kept its prompt of 100 kB. */
const KEPT_BYTES = 9 * ROUNDS * 100_000;
/** Limit for caches without text, regardless of the number of rounds. */
const CACHED_BYTES_MAX = 20_000_000;
const text = {
  ...{ endpoints: ['chat', 'messages'], input_modalities: ['text', 'image'], image_tokens: 1_000 },
  ...{
    context_length: 128_000,
    max_output_tokens: 1_000,
    pricing: { prompt: '0.00000001', completion: '0.00000002' },
  },
};
const CATALOG = JSON.stringify({
  providers: [{ id: 'builtin', protocol: 'builtin' }],
  models: [
    { ...text, id: 'text', routes: [{ provider: 'builtin', model: 'builtin-small' }] },
    {
      ...{ id: 'image-turbo', endpoints: ['image'], pricing: { request: '0.0001' } },
      routes: [{ engine: 'local', model: 'builtin-image' }],
    },
  ],
  engines: [{ id: 'local', kind: 'builtin' }],
  limits: { requests_per_minute: 100_000, tokens_per_minute: 1_000_000_000, concurrency: 100 },
});

let service: RunningService;
let inspectors: Inspector[] = [];
let folder: string;

beforeAll(async () => {
  folder = temporaryFolder('heap');
  const ports = [await choosePort(), await choosePort()];
  const [apiOptions, workerOptions] = ports.map((port) => [`--inspect=127.0.0.1:${port}`]);
  service = await startService({ apiOptions: apiOptions!, workerOptions: workerOptions!, catalog: CATALOG });
  inspectors = await Promise.all(ports.map((port) => Inspector.connect(port)));
});

afterAll(async () => {
  for (const inspector of inspectors) {
    inspector.close();
  }
  await service?.stop();
});

/** Returns 100 kB with two long words that occur nowhere else: V8 keeps a match of one as a slice that retains the whole string. */
function prompt(): string {
  const word = randomUUID().replace(/[^a-f]/g, '');
  return `${MARKER}${word} ${'as I said before '.repeat(5_900)}${word}${MARKER}`;
}

/** Returns an image of 100 kB whose letters occur nowhere else. */
function image(): string {
  return `${MARKER}${randomUUID().replaceAll('-', '').repeat(3_100)}${MARKER}`;
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

/** Makes one call of each kind and returns their statuses. */
async function round(): Promise<number[]> {
  const chat = '/api/v1/chat/completions';
  const ask = () => ({
    model: 'text',
    max_tokens: 20,
    messages: [{ role: 'user', content: prompt() }],
  });
  const look = (picture: object) => ({ ...ask(), messages: [{ role: 'user', content: [picture] }] });
  return [
    await post(chat, look({ type: 'image_url', image_url: { url: `data:image/png;base64,${image()}` } })),
    await post(
      '/vendorx/v1/messages',
      look({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image() } }),
    ),
    await post(chat, ask()),
    await post(chat, { ...ask(), stream: true }),
    await post('/vendorx/v1/messages', ask()),
    await post(chat, ask(), { 'x-max-cost': '0.000001' }),
    await post(chat, { ...ask(), model: 'none' }),
    await post(chat, ask(), { 'idempotency-key': randomUUID() }),
    await order(),
  ];
}

/** Orders an image. An account's queue is bounded, so in thousands of rounds the worker sets the pace, not the client. */
async function order(): Promise<number> {
  const place = () => post('/v3/async/image-turbo', { prompt: prompt(), size: '256*256' });
  const status = await place();
  if (status !== 429) {
    return status;
  }
  await eventually(ordersEnded, TIMEOUT_MS / 4, 'room in the queue');
  return await place();
}

async function roundAsExpected(): Promise<void> {
  const statuses = await round();
  expect(statuses.map((status) => (status < 300 ? 'ok' : 'refused'))).toEqual([
    ...['ok', 'ok', 'ok', 'ok', 'ok'],
    ...['refused', 'refused'],
    ...['ok', 'ok'],
  ]);
}

/** Returns whether all orders have ended, because a worker holds the prompts of open ones legitimately. */
async function ordersEnded(): Promise<boolean> {
  const { data } = await service.call<{ data: { completed_at: string | null }[] }>('/api/v1/tasks?limit=100');
  return data.every((task) => task.completed_at !== null);
}

test(
  'no kind of call leaves its prompt in the memory of the API or the worker',
  async () => {
    await roundAsExpected();
    await roundAsExpected();
    await eventually(ordersEnded, TIMEOUT_MS / 4, 'the end of the orders');
    const heaps = () => Promise.all(inspectors.map((inspector) => inspector.collectedHeap()));
    const before = await heaps();
    for (let made = 0; made < ROUNDS; made += 1) {
      await roundAsExpected();
    }
    await eventually(ordersEnded, TIMEOUT_MS / 4, 'the end of the orders');
    const after = await heaps();
    expect(Math.max(...after.map((bytes, index) => bytes - before[index]!))).toBeLessThan(
      Math.min(KEPT_BYTES / 2, CACHED_BYTES_MAX),
    );
    for (const [index, inspector] of inspectors.entries()) {
      const file = join(folder, `${index}.heapsnapshot`);
      await inspector.writeSnapshot(file);
      expect([index, (await readFile(file, 'utf8')).split(MARKER).length - 1]).toEqual([index, 0]);
    }
  },
  TIMEOUT_MS,
);
