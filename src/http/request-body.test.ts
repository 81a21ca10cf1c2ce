import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { jest } from '@jest/globals';
import { readBody, readJson } from './request-body.ts';

const request = (headers: Record<string, string> = {}) =>
  Object.assign(new PassThrough(), { headers, socket: new PassThrough() }) as unknown as IncomingMessage &
    PassThrough;

describe('a patient reading', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  async function upload(bytesPerSecond: number, seconds: number): Promise<number | string> {
    const body = request();
    const read = readBody(body, 2 ** 20, { patient: true }).then(
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

  test('waits for a slow uplink above the floor rate, however long it takes', async () => {
    expect(await upload(16_500, 60)).toBe(990_000);
  });

  test('gives a body that comes late its ten seconds', async () => {
    expect(await upload(0, 9)).toBe(0);
  });

  test('ends one that trickles', async () => {
    expect(await upload(1_000, 30)).toBe('408 the request took too long to arrive');
  });
});

test('refuses a structure as soon as its bytes are there, before the body has ended', async () => {
  const body = request();
  const read = readJson(body, 2 ** 24);
  body.write(Buffer.from('['.repeat(201)));
  await expect(read).rejects.toThrow('nested deeper than 200 levels');
});
