import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { generateTask } from '../../queues/catalog.ts';
import { Producer } from '../../queues/producer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { ClaimedSessions } from '../../src/operators/board/claimed-sessions.store.ts';
import { OperatorSessions, SESSION_SECONDS } from '../../src/operators/board/operator-session.ts';
import { startFaultProxy } from '../setup/fault-proxy.ts';
import { Browser } from './support/browser.ts';
import { type Customer, createCustomer, failTask, orderImage } from './support/customer.ts';
import {
  ADMIN_TOKEN,
  type CallOptions,
  INSTALLATION_SECRET,
  type OperatorServer,
  request,
  startOperatorServer,
} from './support/operator-server.ts';

const HTML = { accept: 'text/html' };
const PAUSE = '/api/queues/webhooks/pause';

let server: OperatorServer;
let who: Customer;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 10 });
  who = await createCustomer(server);
});
afterAll(() => server?.close());

/** Creates sessions as the server does, at another time or with other secrets. */
function sessionsAt(offsetMs: number, changes: { secret?: string; token?: string } = {}): OperatorSessions {
  return new OperatorSessions({
    installationSecrets: [changes.secret ?? INSTALLATION_SECRET],
    operators: [{ name: 'operator', token: changes.token ?? ADMIN_TOKEN }],
    claimed: new ClaimedSessions({ pool: server.db.database.money, clock: systemClock, rule: null }),
    clock: { now: () => Date.now() + offsetMs },
  });
}

async function signedIn(): Promise<Browser> {
  const browser = new Browser(server.url);
  expect((await browser.signIn(ADMIN_TOKEN)).status).toBe(303);
  return browser;
}

async function withSession(session: string): Promise<number> {
  const headers = { cookie: `tollgate_operator=${session}` };
  return (await server.call('GET', '/admin/queues/api/queues', { token: null, headers })).status;
}

describe('signing in', () => {
  test('shows a page that loads nothing and runs no script', async () => {
    const { text, headers } = await server.call('GET', '/admin/login', { token: null });
    expect(text).toMatch(/<label for="token">/);
    expect(text).not.toMatch(/<script|<link|src=|@import|url\(|https?:\/\//i);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]+='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('the right token sets cookies that no script and no other site can use, and continues to the requested page', async () => {
    const browser = new Browser(server.url);
    const lost = await browser.call('GET', '/admin/queues-rw', { headers: HTML });
    expect([lost.status, lost.headers.get('location')]).toEqual([303, '/admin/login?next=%2Fqueues-rw%2F']);
    const answer = await browser.signIn(ADMIN_TOKEN, lost.headers.get('location')!);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/admin/queues-rw/']);
    expect(browser.attributes.get('tollgate_operator')).toBe(
      `Path=/admin; Max-Age=${SESSION_SECONDS}; SameSite=Strict; HttpOnly`,
    );
    expect(SESSION_SECONDS).toBeLessThanOrEqual(12 * 3_600);
    expect((await browser.call('GET', '/admin/queues', { headers: HTML })).status).toBe(200);
    const back = await browser.call('GET', '/admin/login');
    expect(back.headers.get('location')).toBe('/admin/queues');
    const entries = (await server.call('GET', '/admin/v1/audit?action=operator.login')).json.data;
    expect(entries.length).toBeGreaterThan(0);
  });

  test("a wrong token and a customer's key give no access", async () => {
    for (const token of ['wrong', who.secret, '']) {
      const browser = new Browser(server.url);
      const answer = await browser.signIn(token);
      expect([answer.status, browser.cookies.has('tollgate_operator')]).toEqual([401, false]);
      expect(answer.text).toContain('role="alert"');
    }
    for (const path of ['/admin/queues', '/admin/queues-rw', '/admin/tasks/x', '/admin/logout']) {
      expect([path, (await server.call('GET', path, { token: who.secret })).status]).toEqual([path, 401]);
      expect([path, (await server.call('GET', path, { token: null })).status]).toEqual([path, 401]);
    }
  });

  test('nobody else can submit the form: no cookie, a foreign proof, another site', async () => {
    expect((await new Browser(server.url).submit('/admin/login', { token: ADMIN_TOKEN }, 'x')).status).toBe(
      403,
    );
    const form = await new Browser(server.url).call('GET', '/admin/login');
    const proof = /name="proof" value="([^"]+)"/.exec(form.text)![1]!;
    const stolen = await new Browser(server.url).call('POST', '/admin/login', {
      body: new URLSearchParams({ proof, token: ADMIN_TOKEN }).toString(),
    });
    expect(stolen.status).toBe(403);
    const browser = new Browser(server.url);
    await browser.call('GET', '/admin/login');
    const foreign = await browser.call('POST', '/admin/login', {
      body: new URLSearchParams({ proof, token: ADMIN_TOKEN }).toString(),
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(foreign.status).toBe(403);
  });

  test.each([
    '//evil.example',
    'https://evil.example',
    '/../../x',
    '/v1/tasks',
    '/queues?x=//e',
    '/queues\r\nx',
    '/console/operator//evil.example',
    '/console/operator?x\r\nx',
    '/console/operator@evil.example?x',
    `/console/operator?${'x'.repeat(601)}`,
  ])('never redirects to %j', async (next) => {
    const answer = await new Browser(server.url).signIn(
      ADMIN_TOKEN,
      `/admin/login?next=${encodeURIComponent(next)}`,
    );
    expect(answer.headers.get('location')).toBe('/admin/queues');
  });

  test.each([
    '/console/operator/accounts/acc_01M7ZM9HPS9T186QNDARA5008F?tab=transactions',
    '/console/operator/money?range=2026-11-01T10:00Z,2026-11-01T11:00Z&by=provider',
    '/console/operator/tasks?model=acme%2Fsmall',
  ])('leads back to what was chosen: %j', async (next) => {
    const path = `/admin/login?next=${encodeURIComponent(next)}`;
    const answer = await new Browser(server.url).signIn(ADMIN_TOKEN, path);
    expect(answer.headers.get('location')).toBe(next);
  });

  test('signing out requires a proof, too, and ends the session', async () => {
    const browser = await signedIn();
    expect((await browser.submit('/admin/logout', {}, 'x')).status).toBe(403);
    const answer = await browser.submit('/admin/logout', {});
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/admin/login']);
    expect(browser.cookies.has('tollgate_operator')).toBe(false);
  });
});

describe('sessions', () => {
  test('a genuine one opens the board, while an expired, forged or altered one does not', async () => {
    const genuine = sessionsAt(0).issue('operator');
    expect(await withSession(genuine)).toBe(200);
    const [expiry = '', nonce = '', name = '', mac = ''] = genuine.split('.');
    const refused = {
      expired: sessionsAt(-SESSION_SECONDS * 1_000 - 1_000).issue('operator'),
      'from the future': sessionsAt(3_600_000).issue('operator'),
      'of another installation': sessionsAt(0, { secret: 'another secret of 32 characters !!' }).issue(
        'operator',
      ),
      'of an old token': sessionsAt(0, { token: 'the token before this one, rotated' }).issue('operator'),
      'made longer': `${Number(expiry) + 60}.${nonce}.${name}.${mac}`,
      'with another nonce': `${expiry}.${'A'.repeat(22)}.${name}.${mac}`,
      "under another's name": `${expiry}.${nonce}.somebody.${mac}`,
      'of nobody': sessionsAt(0).issue('nobody'),
      'cut off': genuine.slice(0, -1),
      empty: '',
      'the token itself': ADMIN_TOKEN,
    };
    for (const [kind, session] of Object.entries(refused)) {
      expect([kind, await withSession(session)]).toEqual([kind, 401]);
    }
  });

  test('a session can read the operator API but cannot change anything there without the proof', async () => {
    const headers = { cookie: `tollgate_operator=${sessionsAt(0).issue('operator')}` };
    const call = { token: null, headers };
    expect((await server.call('GET', '/admin/v1/accounts', call)).status).toBe(200);
    const refused = await server.call('POST', '/admin/v1/accounts', { ...call, body: { name: 'forged' } });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'csrf_rejected']);
  });

  test('behind https the cookies are sent over https only', async () => {
    const secure = await startOperatorServer({
      redisDatabase: 10,
      environment: { PUBLIC_URL: 'https://gate.example/prefix' },
    });
    try {
      const browser = new Browser(secure.url);
      const answer = await browser.signIn(ADMIN_TOKEN);
      expect(answer.headers.get('location')).toBe('/prefix/admin/queues');
      expect(browser.attributes.get('tollgate_operator')).toContain('Path=/prefix/admin; ');
      for (const attributes of browser.attributes.values()) {
        expect(attributes).toMatch(/; Secure$/);
      }
    } finally {
      await secure.close();
    }
  });
});

describe('the boards', () => {
  test('the page loads nothing from elsewhere, and its policy forbids it', async () => {
    const { text, headers } = await server.call('GET', '/admin/queues');
    expect(text).toContain('<base href="/admin/queues/"');
    expect(text).not.toMatch(/https?:\/\//);
    const policy = headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect(headers.get('x-powered-by')).toBeNull();
    const script = /src="(static\/js\/main[^"]+)"/.exec(text)![1]!;
    expect((await server.call('GET', `/admin/queues/${script}`)).status).toBe(200);
    expect((await server.call('GET', '/docs/plain')).headers.get('content-security-policy')).not.toContain(
      'connect-src',
    );
  });

  test('shows every queue of the installation', async () => {
    const { json } = await server.call('GET', '/admin/queues/api/queues');
    const queues = json.queues as { name: string; readOnlyMode: boolean }[];
    expect(queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual(
      ['generate-local', 'postprocess', 'webhooks', 'maintenance'].map((name) => [name, true]),
    );
    const writable = (await server.call('GET', '/admin/queues-rw/api/queues')).json.queues;
    expect(writable.every((queue: { readOnlyMode: boolean }) => !queue.readOnlyMode)).toBe(true);
  });

  test('the read-only board rejects every write with 405, even with the right token', async () => {
    for (const [method, path] of [
      ['PUT', PAUSE],
      ['PUT', '/api/queues/pause'],
      ['PUT', '/api/queues/webhooks/obliterate'],
      ['POST', '/api/queues/webhooks/add'],
      ['PATCH', '/api/queues/webhooks/x/update-data'],
      ['DELETE', '/api/queues'],
    ] as const) {
      const answer = await server.call(method, `/admin/queues${path}`);
      expect([path, answer.status, answer.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
    }
  });

  test('the writable board accepts writes with the token, or with a session and its proof, and records each', async () => {
    const browser = await signedIn();
    const paths = `/admin/queues-rw${PAUSE}`;
    expect((await browser.call('PUT', paths)).json.error.code).toBe('csrf_rejected');
    expect((await browser.call('PUT', paths, { headers: { 'x-xsrf-token': 'x' } })).status).toBe(403);
    const headers = { 'x-xsrf-token': browser.cookies.get('XSRF-TOKEN')! };
    const foreign = { ...headers, 'sec-fetch-site': 'cross-site' };
    expect((await browser.call('PUT', paths, { headers: foreign })).status).toBe(403);
    const foreignProof = { 'x-xsrf-token': (await signedIn()).cookies.get('XSRF-TOKEN')! };
    expect((await browser.call('PUT', paths, { headers: foreignProof })).status).toBe(403);
    expect(await writes()).toEqual([]);

    expect((await browser.call('PUT', paths, { headers })).status).toBe(200);
    const queues = (await server.call('GET', '/admin/v1/queues')).json.data;
    expect(queues.find((queue: { name: string }) => queue.name === 'webhooks').paused).toBe(true);
    expect((await server.call('PUT', '/admin/queues-rw/api/queues/webhooks/resume')).status).toBe(200);
    expect(await writes()).toEqual(['/api/queues/webhooks/resume', PAUSE]);
  });

  test('a job shows only ids and links to the page of its task', async () => {
    const url = 'https://hook.example/canary?token=canary';
    const id = await orderImage(server, who, { extra: { webhook: { url } } });
    const redis = new Redis(server.redisUrl);
    const producer = new Producer(redis, { prefix: 'tollgate' });
    const taskId = newUuid();
    try {
      await new Promise((resolve) => redis.once('ready', resolve));
      await producer.addAll('generate-local', generateTask, [{ taskId, dispatch: 1 }]);
      const { json } = await server.call(
        'GET',
        '/admin/queues/api/queues?activeQueue=generate-local&status=waiting',
      );
      const [job] = json.queues[0].jobs;
      expect(job).toMatchObject({
        name: 'tasks.generate',
        data: { taskId, dispatch: 1 },
        externalUrl: { href: `/admin/tasks/${publicId('generation', taskId)}` },
      });
      await producer.queue('generate-local').obliterate({ force: true });
    } finally {
      await producer.close();
      redis.disconnect();
    }
    await failTask(server, who, id, true);
    const page = await (await signedIn()).call('GET', `/admin/tasks/${id}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('upstream_unavailable: every attempt at this task failed');
    expect(page.text).toContain('https://hook.example');
    expect(page.text).not.toContain('canary');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await server.call('GET', '/admin/tasks/gen-01JD0000000000000000000000')).status).toBe(404);
  });

  async function writes(): Promise<string[]> {
    const { json } = await server.call('GET', '/admin/v1/audit?action=board.write');
    return json.data.map((entry: { object: string }) => entry.object);
  }
});

describe('without Redis', () => {
  let lonely: OperatorServer;

  beforeAll(async () => {
    const taken = createServer(() => undefined);
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    await new Promise((resolve) => taken.close(resolve));
    lonely = await startOperatorServer({
      redisDatabase: 0,
      environment: { REDIS_URL: `redis://127.0.0.1:${port}` },
    });
  });
  afterAll(() => lonely?.close());

  test('the process starts, board and queues soon answer 503, and tasks are served', async () => {
    // once: other calls are repeated after a 503
    const ask = (path: string, options?: CallOptions) => request(lonely.url + path, 'GET', options);
    const startedAt = performance.now();
    const page = await ask('/admin/queues', { headers: HTML });
    expect([page.status, page.headers.get('refresh')]).toEqual([503, '10']);
    expect(page.text).toContain('Redis does not respond');
    const data = await ask('/admin/queues/api/queues', { headers: { accept: 'application/json' } });
    expect([data.status, data.json.error.code]).toEqual([503, 'service_unavailable']);
    const queues = await ask('/admin/v1/queues');
    expect([queues.status, queues.headers.get('retry-after')]).toEqual([503, '5']);
    // three times a limit of two seconds, plus what a busy machine adds
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    expect((await lonely.call('GET', '/admin/v1/tasks')).status).toBe(200);
  });
});

test('waits for a Redis that is slow to connect, so that the first call of a process finds its queues', async () => {
  const redis = new URL(process.env.TEST_REDIS_URL!);
  const [targetHost, targetPort] = [redis.hostname, Number(redis.port)];
  const slow = await startFaultProxy({ targetHost, targetPort, cutReplyChance: 0 });
  redis.port = String(slow.port);
  slow.freeze();
  const thaw = setTimeout(() => slow.thaw(), 1_500);
  const fresh = await startOperatorServer({
    redisDatabase: 10,
    environment: { REDIS_URL: redis.href },
  });
  try {
    expect((await fresh.call('GET', '/admin/v1/queues')).status).toBe(200);
    expect((await fresh.call('GET', '/admin/queues/api/queues')).status).toBe(200);
  } finally {
    clearTimeout(thaw);
    await fresh.close();
    await slow.close();
  }
});
