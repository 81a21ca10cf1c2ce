import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Inspector } from '../../bench/measure/inspector.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { type RunningService, startService } from './running-service.ts';

/** Stands at the head of every prompt: a heap snapshot shows the first kB of a string. */
const MARKER = 'xqmarkedprompt';
const ROUNDS = 10;
/** What the rounds would leave behind if each kept its prompt of 100 kB. */
const KEPT_BYTES = 7 * ROUNDS * 100_000;

let service: RunningService;
let inspector: Inspector;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-heap-'));
  const port = await choosePort();
  service = await startService({ apiOptions: [`--inspect=127.0.0.1:${port}`] });
  inspector = await Inspector.connect(port);
}, 60_000);

afterAll(async () => {
  inspector?.close();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** 100 kB with two long words that stand nowhere else: V8 keeps a match of one as a window onto all of it. */
function prompt(): string {
  const word = randomUUID().replace(/[^a-f]/g, '');
  return `${MARKER}${word} ${'as I said before '.repeat(5_900)}${word}${MARKER}`;
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

/** One call of each kind; their statuses. */
async function round(): Promise<number[]> {
  const chat = '/api/v1/chat/completions';
  const ask = () => ({
    model: 'tollgate/small',
    max_tokens: 20,
    messages: [{ role: 'user', content: prompt() }],
  });
  return [
    await post(chat, ask()),
    await post(chat, { ...ask(), stream: true }),
    await post('/vendorx/v1/messages', ask()),
    await post(chat, ask(), { 'x-max-cost': '0.000001' }),
    await post(chat, { ...ask(), model: 'tollgate/none' }),
    await post(chat, ask(), { 'idempotency-key': randomUUID() }),
    await post('/v3/async/image-turbo', { prompt: prompt(), size: '256*256' }),
  ];
}

test('no kind of call leaves its prompt in the memory of the API', async () => {
  const statuses = await round();
  expect(statuses.map((status) => (status < 300 ? 'ok' : 'refused'))).toEqual([
    ...['ok', 'ok', 'ok'],
    ...['refused', 'refused'],
    ...['ok', 'ok'],
  ]);
  await round();
  const before = await inspector.collectedHeap();
  for (let made = 0; made < ROUNDS; made += 1) {
    await round();
  }
  expect((await inspector.collectedHeap()) - before).toBeLessThan(KEPT_BYTES / 2);
  const file = join(folder, 'api.heapsnapshot');
  await inspector.writeSnapshot(file);
  expect((await readFile(file, 'utf8')).split(MARKER).length - 1).toBe(0);
}, 120_000);
