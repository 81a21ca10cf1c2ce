import { jest } from '@jest/globals';
import { parsePublicId } from '../../src/lib/ids.ts';
import { DatabaseClock } from '../../src/store/database-clock.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';

const HOUR_MS = 3_600_000;
const realNow = Date.now;

test('the clock follows the database and does not jitter with its answers', () => {
  const clock = new DatabaseClock();
  expect([Math.abs(clock.now() - Date.now()) < 100, clock.skewMs]).toEqual([true, undefined]);
  const askedAt = performance.now();
  clock.learn(5_000_000, askedAt, askedAt + 20);
  const learnt = clock.now();
  expect(Math.abs(learnt - 5_000_000)).toBeLessThan(1_000);
  // the clock is already between the two moments that these answers allow, so nothing changes
  clock.learn(5_000_000, askedAt, askedAt + 40);
  clock.learn(5_000_500, askedAt, askedAt + 5_000);
  expect(clock.now() - learnt).toBeLessThan(400);
  clock.learn(6_000_000, askedAt, askedAt + 20);
  expect(Math.abs(clock.now() - 6_000_000)).toBeLessThan(1_000);
});

describe.each([
  ['behind', -2 * HOUR_MS],
  ['ahead', 2 * HOUR_MS],
])('an API process on a host whose clock is two hours %s', (_, offsetMs) => {
  let server: OperatorServer;
  let key: string;

  beforeAll(async () => {
    jest.spyOn(Date, 'now').mockImplementation(() => realNow() + offsetMs);
    server = await startOperatorServer({ redisDatabase: 11 });
    const account = await server.call('POST', '/admin/v1/accounts', { body: { name: 'a', credits: '1.00' } });
    key = account.json.key;
  });
  afterAll(async () => {
    await server?.close();
    jest.restoreAllMocks();
  });

  const ask = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { token: key, body });

  test('reports it: not ready, and a gauge shows the skew', async () => {
    const { status, json } = await server.call('GET', '/readyz', { token: null });
    expect([status, json.checks]).toEqual([503, expect.objectContaining({ clock: false, database: true })]);
    const { text } = await server.call('GET', '/metrics', { token: null });
    const [, skew] = /^tollgate_clock_skew_seconds (\S+)$/m.exec(text) ?? [];
    expect(Math.abs(Number(skew) * 1_000 - offsetMs)).toBeLessThan(5_000);
  });

  test('gives tasks the same deadline as other processes, and ids from the real time', async () => {
    const { json } = await ask('POST', '/v3/async/image-turbo', { prompt: 'a tree' });
    const id = parsePublicId('generation', json.task_id)!;
    const { rows } = await server.db.database.money.query(
      `SELECT extract(epoch FROM deadline_at - created_at)::integer AS seconds, created_at FROM tasks WHERE id = $1`,
      [id],
    );
    expect(rows[0].seconds).toBe(3_600);
    const idMs = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(Math.abs(idMs - rows[0].created_at.getTime())).toBeLessThan(5_000);
  });

  test('signs links that are valid as long as those of other processes', async () => {
    const { clock, storage } = server.foundation;
    expect(Math.abs(clock.now() - realNow())).toBeLessThan(5_000);
    const link = new URL(await storage.signedUrl('acct/a/task/b/0.png', { ttlSeconds: 600 }), server.url);
    const expiry = Number(
      [...link.searchParams.values(), ...link.pathname.split('/')].find((part) => /^\d{10}$/.test(part)),
    );
    expect(Math.abs(expiry * 1_000 - realNow() - 600_000)).toBeLessThan(5_000);
  });
});
