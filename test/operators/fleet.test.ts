import { parsePublicId } from '../../src/lib/ids.ts';
import { Browser } from './support/browser.ts';
import { createCustomer, failTask, orderImage } from './support/customer.ts';
import { ADMIN_TOKEN, type OperatorServer, startOperatorServer } from './support/operator-server.ts';

let server: OperatorServer;
beforeAll(async () => {
  server = await startOperatorServer({
    redisDatabase: 10,
    environment: { GRAFANA_URL: 'https://grafana.example/d/tollgate' },
  });
});
afterAll(() => server?.close());

const read = async (path: string) => (await server.call('GET', `/admin/v1/${path}`)).json.data;
const sql = (text: string, ...values: unknown[]) => server.db.database.money.query(text, values);

async function signedIn(): Promise<{ browser: Browser; csrf: string }> {
  const browser = new Browser(server.url);
  await browser.signIn(ADMIN_TOKEN);
  return { browser, csrf: (await browser.call('GET', '/admin/v1/session')).json.data.csrf };
}

describe('the operator API accepts the cookie of the operator pages', () => {
  test('for reads, and for changes with the proof that only our own page can read', async () => {
    const { browser, csrf } = await signedIn();
    const { account } = await createCustomer(server);
    expect((await browser.call('GET', `/admin/v1/accounts/${account}`)).status).toBe(200);
    const path = `/admin/v1/accounts/${account}`;
    const suspend = (headers: Record<string, string>) =>
      browser.call('PATCH', path, { body: { suspended: true }, headers });
    for (const headers of [
      {},
      { 'x-csrf-token': 'wrong' },
      { 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' },
    ]) {
      const refused = await suspend(headers as Record<string, string>);
      expect([refused.status, refused.json.error.code]).toEqual([403, 'csrf_rejected']);
    }
    expect((await suspend({ 'x-csrf-token': csrf })).json.data.suspended).toBe(true);
    const [entry] = await read(`audit?object=${account}`);
    expect(entry).toMatchObject({ actor: 'operator', action: 'account.update' });
  });

  test('but not for customer routes, and it does not accept a customer’s cookie', async () => {
    const { browser } = await signedIn();
    expect((await browser.call('GET', '/api/v1/keys')).status).toBe(401);
    const customer = await createCustomer(server);
    const signIn = { token: null, body: { api_key: customer.secret } };
    const cookie = (await server.call('POST', '/api/v1/sessions', signIn)).headers.get('set-cookie') ?? '';
    const headers = { cookie: cookie.split(';', 1)[0] ?? '' };
    expect((await server.call('GET', '/admin/v1/session', { token: null, headers })).status).toBe(401);
  });

  test('another site cannot read anything, and a program with a token needs no cookie proof', async () => {
    const { browser } = await signedIn();
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await browser.call('GET', '/admin/v1/accounts', { headers })).status).toBe(403);
    const links = { board: '/admin/queues', grafana: 'https://grafana.example/d/tollgate' };
    expect(await read('session')).toEqual({ operator: 'operator', csrf: null, ends_at: null, links });
  });

  test('a login leads to the console', async () => {
    const browser = new Browser(server.url);
    const answer = await browser.signIn(ADMIN_TOKEN, '/admin/login?next=%2Fconsole%2Foperator%2Ffleet');
    expect(answer.headers.get('location')).toBe('/console/operator/fleet');
  });
});

describe('the fleet', () => {
  test('a pool whose tasks have no worker is an alarm until a worker serves it', async () => {
    const customer = await createCustomer(server);
    const task = await orderImage(server, customer);
    const pool = async () =>
      (await read('pools')).find((row: { queue: string }) => row.queue === 'generate-local');
    const alarm = async () =>
      (await read('alarms')).filter((row: { code: string }) => row.code === 'pool_without_workers');
    expect(await pool()).toMatchObject({ waiting: 1, running: 0, slots: 0 });
    expect(await alarm()).toMatchObject([{ object: 'generate-local', count: 1 }]);
    await sql(
      `INSERT INTO worker_slots (worker, queue, slots, seen_at) VALUES ('gpu-1.7', 'generate-local', 3, clock_timestamp())`,
    );
    expect(await pool()).toMatchObject({ waiting: 1, slots: 3 });
    expect(await alarm()).toEqual([]);
    await sql(`UPDATE worker_slots SET seen_at = clock_timestamp() - interval '21 seconds'`);
    expect(await alarm()).toHaveLength(1);
    const silent = async () =>
      (await read('alarms')).filter((row: { code: string }) => row.code === 'worker_silent');
    expect(await silent()).toEqual([]);
    await sql(`UPDATE tasks SET state = 'generating', worker = 'gpu-1.7'`);
    expect(await silent()).toMatchObject([{ object: 'gpu-1.7', count: 1 }]);
    await sql(`UPDATE tasks SET state = 'queued', worker = NULL`);
    await failTask(server, customer, task, false);
    expect(await alarm()).toEqual([]);
  });

  test('estimates the wait of a pool from recently finished tasks, and gives no estimate without any', async () => {
    const customer = await createCustomer(server);
    const tasks = await Promise.all(Array.from({ length: 6 }, () => orderImage(server, customer)));
    const stored = (task: string | undefined) => parsePublicId('generation', task ?? '');
    const estimate = async (queue = 'generate-local') =>
      (await read('pools')).find((row: { queue: string }) => row.queue === queue).estimated_wait_seconds;
    await sql(
      `INSERT INTO worker_slots (worker, queue, slots, seen_at) VALUES ('gpu-2.1', 'generate-local', 2, clock_timestamp())`,
    );
    expect(await estimate()).toBeNull();

    // two overlap, one came after a pause: three in 35 s of work
    for (const [index, [startedAgo, endedAgo]] of [
      [60, 40],
      [50, 30],
      [10, 5],
    ].entries()) {
      await failTask(server, customer, tasks[index] ?? '', false);
      await sql(
        `UPDATE tasks SET started_at = now() - $2 * interval '1 s', completed_at = now() - $3 * interval '1 s' WHERE id = $1`,
        ...[stored(tasks[index]), startedAgo, endedAgo],
      );
    }
    expect(await estimate()).toBe(35);
    expect(await estimate('postprocess')).toBeNull();
    // one slow task slows all: three in 90 s, two are waiting
    await sql(
      `UPDATE tasks SET state = 'generating', started_at = now() - interval '90 s' WHERE id = $1`,
      stored(tasks[3]),
    );
    expect([60, 61]).toContain(await estimate());
    await sql(`UPDATE tasks SET state = 'queued', started_at = NULL WHERE id = $1`, stored(tasks[3]));
    await Promise.all(tasks.slice(3).map((task) => failTask(server, customer, task, false)));
    expect(await estimate()).toBe(0);
    await sql(`DELETE FROM worker_slots WHERE worker = 'gpu-2.1'`);
    expect(await estimate()).toBeNull();
  });

  test('shows providers by the outcomes of their attempts, and the last proof of the books with its age', async () => {
    const { secret } = await createCustomer(server);
    const model = (await server.call('GET', '/api/v1/models', { token: secret })).json.data.find(
      ({ endpoints }: { endpoints: string[] }) => endpoints.includes('chat'),
    ).id;
    const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
    expect((await server.call('POST', '/api/v1/chat/completions', { token: secret, body })).status).toBe(200);
    const [provider] = await read('providers');
    expect(provider).toMatchObject({
      attempts: 1,
      attempts_5m: 1,
      failed: 0,
      failures: {},
      last_failed_at: null,
    });
    expect(provider.latency_ms.p50).toBeGreaterThanOrEqual(0);
    expect(await read('ledger/checks')).toEqual([]);
    await read('ledger/verify');
    const [check] = await read('ledger/checks');
    expect(check).toMatchObject({ kind: 'full', violations: 0 });
    expect(check.age_seconds).toBeLessThan(60);
    await sql(`UPDATE ledger_checks SET at = at - interval '2 days', violations = '[{}]'`);
    const codes = (await read('alarms')).map((row: { code: string }) => row.code);
    expect(codes).toEqual(['books_violated', 'books_unchecked']);
  });
});
