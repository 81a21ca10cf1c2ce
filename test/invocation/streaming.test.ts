import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import { EventStream, eventFrame } from '../../src/http/answers/sse.ts';
import { eventually } from '../factories/eventually.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

async function serve(
  handle: (stream: EventStream, log: boolean[]) => Promise<void>,
  log: boolean[],
  settings: object,
) {
  const app = express();
  app.get('/', (_request, response) => {
    const defaults = { keepAliveMs: 15_000, stallMs: 30_000, keepAliveFrame: ': keep-alive\n\n' };
    void handle(new EventStream(response, { ...defaults, ...settings }), log);
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function url(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('keeps a frame intact whatever its content', () => {
  const frame = eventFrame({ text: 'a\n\ndata: [DONE]\n\r\u2028event: x' }, 'delta');
  expect(frame.split('\n')).toHaveLength(4);
  expect(frame).toMatch(/^event: delta\ndata: \{[^\n]*\}\n\n$/);
});

test('fills silence with keep-alives, and forbids buffering in headers', async () => {
  const server = await serve(
    async (stream) => {
      await new Promise((resolve) => setTimeout(resolve, 130));
      await stream.write(eventFrame({ a: 1 }));
      stream.end();
    },
    [],
    { keepAliveMs: 40 },
  );
  const response = await fetch(url(server));
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  expect(response.headers.get('cache-control')).toContain('no-transform');
  const text = await response.text();
  expect(text.match(/: keep-alive\n\n/g)!.length).toBeGreaterThanOrEqual(2);
  expect(text.endsWith('data: {"a":1}\n\n')).toBe(true);
  server.close();
});

test('makes the writer wait for a reader that does not read, and finally drops the reader', async () => {
  const log: boolean[] = [];
  let written = 0;
  const server = await serve(
    async (stream, results) => {
      for (;;) {
        const room = stream.write(`data: ${'x'.repeat(65_536)}\n\n`);
        written += 1;
        if (room && !(await room)) {
          results.push(false);
          return;
        }
      }
    },
    log,
    { stallMs: 200 },
  );
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await eventually(async () => log.length === 1, 5_000);
  // what the socket buffers of the kernel hold, and no more
  expect(written).toBeLessThan(200);
  socket.destroy();
  server.closeAllConnections();
  server.close();
});

describe('behind the gateway', () => {
  let upstream: UpstreamServer;
  let gateway: Gateway;

  beforeAll(async () => {
    upstream = await startOpenAiUpstream();
    gateway = await Gateway.start({
      // stops when its connection is closed, so the rest of millions of words need not be read
      providers: [{ id: 'openai', protocol: 'openai', base_url: upstream.url, on_disconnect: 'abort' }],
      models: [
        model('m', [{ provider: 'openai', model: 'gpt' }], {
          contextLength: 10_000_000,
          maxOutputTokens: 5_000_000,
        }),
      ],
    });
  });

  afterAll(async () => {
    await gateway?.close();
    await upstream?.close();
  });

  function open(body: object): Socket {
    const text = JSON.stringify({ model: 'm', messages: [{ content: 'x' }], ...body });
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const head = `POST /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    return socket;
  }

  test('stops the provider when a client stops reading, so memory stays small', async () => {
    upstream.reset({ words: Array.from({ length: 250 }, () => ` ${'word '.repeat(20_000)}`) });
    const before = process.memoryUsage().rss;
    const sockets = Array.from({ length: 2 }, () => open({ stream: true, max_tokens: 4_000_000 }).pause());
    await eventually(async () => upstream.requests.length === 2, 10_000);
    const tokens = () => [...gateway.ledger.metered.values()].map((one) => one().usage.outputTokens);
    // stalled: nothing more is read for half a second, however long a busy machine takes to get there
    let [metered, stillSince] = [tokens(), Date.now()];
    await eventually(async () => {
      const now = tokens();
      if (now.length < 2 || now.join() !== metered.join()) {
        [metered, stillSince] = [now, Date.now()];
      }
      return Date.now() - stillSince > 500;
    }, 20_000);
    // and far from the end
    expect(metered).toHaveLength(2);
    expect(Math.max(...metered)).toBeLessThan(3_000_000);
    for (const socket of sockets) {
      socket.destroy();
    }
    await eventually(async () => gateway.ledger.held === 0n, 5_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(700 * 2 ** 20);
  });

  test.each([true, false])(
    'measures the time to the first token only for a stream (stream: %s)',
    async (stream) => {
      upstream.reset({ words: ['one', ' two', ' three'], tokenDelayMs: 20 });
      const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', stream, messages: [{ content: 'x' }] }),
      });
      expect(response.status).toBe(200);
      await response.text();
      const { firstTokenMs, latencyMs, streamed } = gateway.ledger.last;
      expect(streamed).toBe(stream);
      if (stream) {
        expect(latencyMs - firstTokenMs!).toBeGreaterThanOrEqual(20);
      } else {
        expect(firstTokenMs).toBeNull();
      }
    },
  );

  test('delivers many frames of one packet unchanged and in order', async () => {
    const words = Array.from(
      { length: 3_000 },
      (_, index) => [' alpha', ' river', ' stone'][(index * index) % 3]!,
    );
    upstream.reset({ words });
    const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ content: 'x' }] }),
    });
    const text = await response.text();
    const frames = text.split('\n\n').filter((frame) => frame !== '');
    expect(frames.at(-1)).toBe('data: [DONE]');
    const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice(6)));
    expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(words.join(''));
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true);
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop');
    expect(chunks.at(-1).usage).toMatchObject({ output_tokens: 3_000, completion_tokens: 3_000 });
    expect(
      new Set(chunks.map((chunk) => `${chunk.id} ${chunk.model} ${chunk.created} ${chunk.object}`)).size,
    ).toBe(1);
  });
});
