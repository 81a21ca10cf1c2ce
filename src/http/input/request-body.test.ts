import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import express from 'express';
import fc from 'fast-check';
import { atOnce } from '../../lib/steps.ts';
import { createHttpServer } from '../http-server.ts';
import { readJson, readRequestBody } from './request-body.ts';

const request = (headers: Record<string, string> = {}) =>
  Object.assign(new PassThrough(), { headers, socket: new PassThrough() }) as unknown as IncomingMessage &
    PassThrough;

describe('a patient reading', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  async function upload(bytesPerSecond: number, seconds: number): Promise<number | string> {
    const body = request();
    const read = readRequestBody(body, 2 ** 20, { patient: true }).then(
      (bytes) => bytes.length,
      (error: { status: number; message: string }) => `${error.status} ${error.message}`,
    );
    for (let second = 0; second < seconds; second += 1) {
      body.write(Buffer.alloc(bytesPerSecond));
      await jest.advanceTimersByTimeAsync(1_000);
    }
    body.end();
    await jest.advanceTimersByTimeAsync(1_000);
    return await read;
  }

  test('waits for a slow uplink above the minimum rate, however long it takes', async () => {
    expect(await upload(16_500, 60)).toBe(990_000);
  });

  test('gives a body that starts late ten seconds', async () => {
    expect(await upload(0, 9)).toBe(0);
  });

  test('stops a body that trickles in', async () => {
    expect(await upload(1_000, 30)).toBe('408 the request took too long to arrive');
  });
});

test('rejects a structure as soon as its bytes have arrived, before the body has ended', async () => {
  const body = request();
  const read = readJson(body, 2 ** 24);
  body.write(Buffer.from('['.repeat(201)));
  await expect(read).rejects.toThrow('nested deeper than 200 levels');
});

describe('beyond its beginning, a body', () => {
  const part = 'x'.repeat(40_000);
  const parts = [part, part, part];
  const upload = (body: PassThrough) => {
    for (const text of parts) {
      body.write(`"${text}",`);
    }
    body.end('"end"]');
  };

  test('is parsed when its turn comes', async () => {
    const body = request();
    const turns: (() => void)[] = [];
    const read = readJson(body, 2 ** 20, {
      inTurn: (steps) => new Promise((resolve) => turns.push(() => resolve(atOnce(steps)))),
    });
    let isRead = false;
    void read.then(() => {
      isRead = true;
    });
    body.write('[');
    upload(body);
    let taken = 0;
    while (!isRead) {
      await new Promise(setImmediate);
      // one turn at a time: later chunks wait
      expect(turns.length).toBeLessThanOrEqual(1);
      taken += turns.length;
      turns.pop()?.();
    }
    expect(taken).toBe(2);
    expect(await read).toEqual([...parts, 'end']);
  });

  test('is read whole when its last bytes are the ones that wait', async () => {
    const body = request();
    const read = readJson(body, 2 ** 20, {
      inTurn: async (steps) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return atOnce(steps);
      },
    });
    body.write(`["${part}"`);
    body.end(`,"${part}"]`);
    expect(await read).toEqual([part, part]);
  });

  test('equals what was sent, however it is cut and whenever its turns come', async () => {
    const texts = fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 8 });
    const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 70_000 }));
    const delays = fc.infiniteStream(fc.constantFrom('none', 'turn', 'time'));
    const sent = async (lengths: number[], chunks: Iterator<number>, delay: Iterator<string>) => {
      const value = lengths.map((length, index) => String(index % 10).repeat(length));
      const text = Buffer.from(JSON.stringify(value));
      const body = request();
      const read = readJson(body, 2 ** 20, {
        inTurn: async (steps) => {
          const { value: kind } = delay.next();
          if (kind !== 'none') {
            await (kind === 'turn' ? new Promise(setImmediate) : new Promise((go) => setTimeout(go, 2)));
          }
          return atOnce(steps);
        },
      });
      for (let at = 0; at < text.length; ) {
        const end = at + Number(chunks.next().value);
        body.write(text.subarray(at, end));
        at = end;
        await (delay.next().value === 'none' || new Promise(setImmediate));
      }
      body.end();
      expect(await read).toEqual(value);
    };
    await fc.assert(fc.asyncProperty(texts, sizes, delays, sent), { numRuns: 60 });
  });

  test('is rejected when its turn is rejected', async () => {
    const body = request();
    const read = readJson(body, 2 ** 20, { inTurn: () => Promise.reject(new Error('busy')) });
    body.write('[');
    upload(body);
    await expect(read).rejects.toThrow('busy');
  });

  test('is rejected when its JSON is invalid', async () => {
    const body = request();
    const read = readJson(body, 2 ** 20);
    body.write('}');
    upload(body);
    await expect(read).rejects.toThrow('JSON');
  });
});

describe('an unwanted body', () => {
  const bytesMax = 2 ** 20;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const app = express();
  app.post('/read', async (call, response) => {
    const said = await readRequestBody(call, bytesMax, { onChunk: refuse }).then(
      (bytes) => String(bytes.length),
      (error: Error) => error.message,
    );
    response.end(said);
  });
  app.post('/unread', (_, response) => void response.end('unread'));
  const server = createHttpServer(app);
  let refused = 0;
  const refuse = (chunk: Buffer): void => {
    if (chunk.includes('no')) {
      refused += 1;
      throw new Error('refused');
    }
  };

  beforeAll(async () => await once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    agent.destroy();
    server.close();
  });

  async function upload(path: string, body: Buffer): Promise<{ said: string; from: number; ms: number }> {
    const { port } = server.address() as AddressInfo;
    const startedAt = performance.now();
    const headers = { 'content-length': body.length };
    const call = send({ port, path, agent, method: 'POST', headers });
    const sent = new Promise<void>((resolve) => call.end(body, resolve));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const said = await text(response);
    await sent;
    return { said, from: call.socket?.localPort ?? 0, ms: performance.now() - startedAt };
  }

  test('leaves its connection free for the next request when it is rejected while it arrives', async () => {
    const first = await upload('/read', Buffer.alloc(bytesMax, 'no '));
    const second = await upload('/read', Buffer.alloc(bytesMax, 'yes '));
    expect([first.said, second.said, refused]).toEqual(['refused', String(bytesMax), 1]);
    expect(second.from).toBe(first.from);
  });

  test('is dropped slowly when nobody reads it', async () => {
    const bytes = 16 * 2 ** 20;
    const first = await upload('/unread', Buffer.alloc(bytes));
    const second = await upload('/read', Buffer.alloc(10));
    expect([first.said, second.said]).toEqual(['unread', '10']);
    // 6 MB/s, except for the first MB and what the buffers of both ends hold
    expect(first.ms + second.ms).toBeGreaterThan(500);
  });
});
