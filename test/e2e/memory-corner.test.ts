import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientRequest, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'yaml';
import { ALLOCATOR_SETTINGS, API_NODE_OPTIONS } from '../../ops/local/programs.ts';
import { COMPOSE_VARIABLES, ROOT, readComposeFile } from '../deployment/compose-file.ts';
import { eventually } from '../factories/eventually.ts';
import { type LocalService, startService } from './running-service.ts';

/** Checks the shipped memory limits with an API under the load that they are meant for. */

const LIMIT_BYTES = 2 ** 30;
const ADMIN_TOKEN = 'admin-token-of-the-e2e-tests';
const PATH = '/api/v1/chat/completions';
/** Just below the largest allowed body, and more of them at once than a process accepts. */
const IMAGE_BYTES = 31 * 2 ** 20;
const TEXT_BYTES = 31 * 2 ** 20;
const BODIES = Number(process.env.TEST_MEMORY_BODIES ?? 5);
/** `npm run test:memory` uses 1,000. */
const STREAMS = Number(process.env.TEST_MEMORY_STREAMS ?? 100);

const composed = readComposeFile(COMPOSE_VARIABLES).services;
const heapFlags =
  composed.api?.command?.filter((word) => word.startsWith('--') && word !== '--enable-source-maps') ?? [];

let service: LocalService;
let provider: SlowProvider;

/** An OpenAI-compatible provider that leaves requests in the network buffers until `read` is called. */
class SlowProvider {
  /** Number of waiting calls. */
  waiting = 0;
  readonly #server: Server;
  readonly #waiters: (() => void)[] = [];

  constructor() {
    this.#server = createServer(async (call, response) => {
      this.waiting += 1;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
      call.resume();
      await once(call, 'end');
      response.setHeader('content-type', 'application/json');
      response.end(ANSWER);
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  read(): void {
    for (const resolve of this.#waiters) {
      resolve();
    }
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const ANSWER = JSON.stringify({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'simulated' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'seen' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 1, total_tokens: 1_001 },
});

beforeAll(async () => {
  provider = new SlowProvider();
  const shared = {
    endpoints: ['chat'],
    context_length: 128_000,
    max_output_tokens: 1_000,
    pricing: { prompt: '0.0000001', completion: '0.0000002' },
  };
  service = await startService({
    apiOptions: heapFlags,
    catalog: JSON.stringify({
      providers: [
        { id: 'builtin', protocol: 'builtin', token_delay_ms: 100 },
        { id: 'slow', protocol: 'openai', base_url: await provider.listen(), api_key: 'none' },
      ],
      models: [
        { ...shared, id: 'story', routes: [{ provider: 'builtin', model: 'builtin-small' }] },
        {
          ...{ ...shared, id: 'sight', input_modalities: ['text', 'image'], image_tokens: 1_000 },
          routes: [{ provider: 'slow', model: 'simulated' }],
        },
        {
          ...{ ...shared, id: 'novel', context_length: 40_000_000 },
          routes: [{ provider: 'slow', model: 'simulated' }],
        },
      ],
    }),
  });
});
afterAll(async () => {
  provider?.close();
  await service?.stop();
});

const askOf = (model: string, content: unknown, more: object = {}) =>
  JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content }], ...more });

async function newKey(credits = '100'): Promise<string> {
  const answer = await fetch(`${service.url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'corner', credits }),
  });
  return ((await answer.json()) as { key: string }).key;
}

interface Upload {
  readonly request: ClientRequest;
  /** Status of its answer. */
  readonly status: Promise<number>;
}

/** Sends a body without its last byte. Resolves once the rest is on its way, or the call was rejected. */
async function beginUpload(key: string, body: Buffer): Promise<Upload> {
  const upload = request(service.url + PATH, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  });
  const status = once(upload, 'response').then(async ([response]) => {
    response.resume();
    await once(response, 'end');
    return response.statusCode as number;
  });
  const sent = new Promise<void>((resolve) => upload.write(body.subarray(0, -1), () => resolve()));
  upload.on('error', () => undefined);
  await Promise.race([sent, status.catch(() => undefined)]);
  return { request: upload, status };
}

/**
 * Sends a body with each key, so that all are in flight at once. Returns the statuses after the provider has read the bodies that reach it.
 */
async function reachProvider(keys: readonly string[], body: Buffer): Promise<readonly number[]> {
  const before = provider.waiting;
  const uploads = await Promise.all(keys.map((key) => beginUpload(key, body)));
  for (const upload of uploads) {
    upload.request.end(body.subarray(-1));
  }
  let refused = 0;
  const answers = uploads.map(async ({ status }) => {
    // a server that rejects a body may close the connection while it is being sent
    const answer = await status.catch(() => 503);
    refused += answer === 200 ? 0 : 1;
    return answer;
  });
  await eventually(
    async () => provider.waiting - before + refused === keys.length,
    30_000,
    'every body to reach the provider or be rejected',
  );
  provider.read();
  return await Promise.all(answers);
}

async function stream(key: string): Promise<number> {
  const answer = await fetch(service.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: askOf('story', 'tell a story', { stream: true }),
  });
  await answer.text();
  return answer.status;
}

function peakBytes(): number {
  const [, kilobytes] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${service.apiPid}/status`, 'latin1')) ?? [];
  return Number(kilobytes) * 1_024;
}

/** What a stranger with an account and no credits may send: 3.3 million lists, of which the first 200,000 are checked. */
const LISTS = Buffer.from(
  `{"model":"sight","messages":[{"role":"user","content":"x"}],"x":[${'[],'.repeat(3_299_970)}[]]}`,
);
const LISTS_BYTES_MAX = 600 * 2 ** 20;

async function sendLists(key: string): Promise<number> {
  const answer = await fetch(service.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: LISTS,
  }).catch(() => undefined);
  // a server that rejects a body may close the connection while it is being sent
  return answer?.status ?? 402;
}

test('rejects ten bodies of 9.9 MB, with credits and without, within 600 MB', async () => {
  for (const [credits, status] of [
    ['0', 402],
    ['100', 400],
  ] as const) {
    const key = await newKey(credits);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => sendLists(key)));
    expect(statuses.filter((answer) => answer === status).length).toBeGreaterThan(0);
    expect(statuses.filter((answer) => answer === 200)).toEqual([]);
  }
  expect(peakBytes()).toBeLessThan(LISTS_BYTES_MAX);
});

/** Returns a long text. Unlike an image, it is tokenized, and serialized again for the provider. */
function text(): string {
  const words: string[] = [];
  for (let bytes = 0; bytes < TEXT_BYTES; bytes += words.at(-1)!.length + 1) {
    words.push(`word${(words.length * 7_919) % 10_007}`);
  }
  return words.join(' ');
}

test('handles texts at their size limit at once within the shipped memory limit', async () => {
  const keys = await Promise.all(Array.from({ length: BODIES }, () => newKey()));
  const body = Buffer.from(askOf('novel', text()));
  const answers = await reachProvider(keys, body);
  expect(new Set(answers)).toEqual(new Set([200, 503]));
  expect(peakBytes()).toBeLessThan(LIMIT_BYTES);
});

test('handles bodies and streams at their limits at once within the shipped memory limit', async () => {
  const keys = await Promise.all(Array.from({ length: BODIES }, () => newKey()));
  const image = `data:image/png;base64,${'iVBORw0K'.repeat(IMAGE_BYTES / 8 - 64)}`;
  const body = Buffer.from(askOf('sight', [{ type: 'image_url', image_url: { url: image } }]));
  const streams = Array.from({ length: STREAMS }, (_, index) => stream(keys[index % BODIES]!));
  const statuses = await reachProvider(keys, body);
  const told = await Promise.all(streams);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  expect([...statuses, ...told].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(peakBytes()).toBeLessThan(LIMIT_BYTES);
});

test('ships the same limits everywhere, with a heap below them', () => {
  const read = (file: string) => readFileSync(`${ROOT}/ops/${file}`, 'utf8');
  const chart = parse(read('helm/tollgate/values.yaml'));
  expect(composed.api?.mem_limit).toBe('1g');
  expect(composed.worker?.mem_limit).toBe('3g');
  expect(chart.api.resources.limits.memory).toBe('1Gi');
  expect(chart.workers.generate.resources.limits.memory).toBe('3Gi');
  expect(chart.workers.chores.resources.limits.memory).toBe('2Gi');
  expect(heapFlags).toEqual([expect.stringMatching(/^--max-old-space-size=\d+$/), ...API_NODE_OPTIONS]);
  const inChart = heapFlags.join(', ').replace(String(chart.api.heap), '{{ .Values.api.heap }}');
  expect(read('helm/tollgate/templates/api.yaml')).toContain(inChart);
  expect(read('systemd/tollgate-api@.service')).toMatch(
    new RegExp(`^ExecStart=.* ${heapFlags.join(' ')} .*\n(?:.*\n)*MemoryMax=1G$`, 'm'),
  );
  expect(read('docker/Dockerfile')).toContain(heapFlags.join('", "'));
  expect(readFileSync(`${ROOT}/package.json`, 'utf8')).toContain(API_NODE_OPTIONS.join(' '));
  const allocator = Object.entries(ALLOCATOR_SETTINGS).map(([name, value]) => `${name}=${value}`);
  for (const setting of allocator) {
    expect(read('docker/Dockerfile')).toContain(`${setting} `);
    for (const unit of ['api@', 'worker', 'gpu-worker', 'gpu-worker@']) {
      expect(read(`systemd/tollgate-${unit}.service`)).toMatch(new RegExp(`^Environment=${setting}$`, 'm'));
    }
  }
  expect(composed.api?.environment).toMatchObject(ALLOCATOR_SETTINGS);
});
