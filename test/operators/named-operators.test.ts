import pg from 'pg';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { Browser } from './support/browser.ts';
import { ADMIN_TOKEN, type OperatorServer, startOperatorServer } from './support/operator-server.ts';

const ALICE = 'the-token-of-alice-0123456789';
const BOB = 'the-token-of-bob-0123456789';
let server: OperatorServer;

beforeAll(async () => {
  const environment = { ADMIN_TOKENS: `alice:${ALICE},bob:${BOB}` };
  server = await startOperatorServer({ redisDatabase: 10, environment });
});
afterAll(() => server?.close());

const openAccount = (token: string) =>
  server.call('POST', '/admin/v1/accounts', { token, body: { name: 'a customer' } });

async function auditOf(object: string): Promise<{ action: string; actor: string }[]> {
  const { json } = await server.call('GET', `/admin/v1/audit?object=${encodeURIComponent(object)}`);
  return json.data.map(({ action, actor }: { action: string; actor: string }) => ({ action, actor }));
}

test('the audit log names who acted, whichever token they used', async () => {
  const { json } = await openAccount(ALICE);
  const { id } = json.data;
  const change = (token: string, body: object) =>
    server.call('PATCH', `/admin/v1/accounts/${id}`, { token, body });
  expect((await change(BOB, { suspended: true })).status).toBe(200);
  expect((await change(ADMIN_TOKEN, { suspended: false })).status).toBe(200);
  expect(await auditOf(id)).toEqual([
    { action: 'account.update', actor: 'operator' },
    { action: 'account.update', actor: 'bob' },
    { action: 'account.create', actor: 'alice' },
  ]);
});

test('the audit log can be filtered by operator and time range', async () => {
  const { json } = await openAccount(ALICE);
  const of = async (query: string) =>
    (await server.call('GET', `/admin/v1/audit?object=${json.data.id}&${query}`)).json.data;
  const [{ at }] = await of('actor=alice');
  expect(await of('actor=bob')).toEqual([]);
  expect(await of(`start_time=${at}`)).toHaveLength(1);
  expect(await of(`end_time=${at}`)).toEqual([]);
});

test.each([`${ALICE}x`, ALICE.slice(0, -1), `alice:${ALICE}`, 'alice', ''])(
  '%j is not an operator',
  async (token) => {
    expect((await openAccount(token)).status).toBe(401);
  },
);

test('the operator pages record who signed in: in the session, on the board and at sign-out', async () => {
  const browser = new Browser(server.url);
  expect((await browser.signIn(BOB)).status).toBe(303);
  const headers = { 'x-xsrf-token': browser.cookies.get('XSRF-TOKEN')! };
  const pause = await browser.call('PUT', '/admin/queues-rw/api/queues/webhooks/pause', { headers });
  const resume = await browser.call('PUT', '/admin/queues-rw/api/queues/webhooks/resume', { headers });
  expect([pause.status, resume.status]).toEqual([200, 200]);
  expect((await browser.submit('/admin/logout', {})).status).toBe(303);
  expect(await auditOf('operator pages')).toEqual([
    { action: 'operator.logout', actor: 'bob' },
    { action: 'operator.login', actor: 'bob' },
  ]);
  expect(await auditOf('/api/queues/webhooks/pause')).toEqual([{ action: 'board.write', actor: 'bob' }]);
});

test('a session ends when its own token changes, but other sessions do not', async () => {
  const [alice, bob] = [new Browser(server.url), new Browser(server.url)];
  await alice.signIn(ALICE);
  await bob.signIn(BOB);
  const later = await startOperatorServer({
    redisDatabase: 10,
    environment: { ADMIN_TOKENS: `alice:another-token-of-alice-0123456789,bob:${BOB}` },
  });
  try {
    const board = async (browser: Browser) => {
      const headers = { cookie: `tollgate_operator=${browser.cookies.get('tollgate_operator')}` };
      return (await later.call('GET', '/admin/queues/api/queues', { token: null, headers })).status;
    };
    expect([await board(alice), await board(bob)]).toEqual([401, 200]);
  } finally {
    await later.close();
  }
});

describe('an act that cannot be recorded', () => {
  const act = (method: string, path: string, body?: object) =>
    server.call(method, `/admin/v1/${path}`, { token: ALICE, ...(body && { body }) });
  const ended = newUuid();

  beforeAll(async () => {
    const insert = server.foundation.cells.home.money;
    await insert.query(`INSERT INTO workers (worker, host, version, queues, resting, running)
      VALUES ('w-1', 'gpu-1', '1', '{}', '{}', 0)`);
    await insert.query(
      `INSERT INTO operator_sessions (id, token_hash, operator, rule, ends_at, user_agent, address)
       VALUES ($1, repeat('a', 64), 'carol', 'groups=tollgate-operators', now() + interval '1 hour', '', '')`,
      [ended],
    );
    await act('POST', 'worker-tokens', { name: 'old', pools: ['local'] });
    const owner = new pg.Client({ connectionString: server.db.ownerUrl });
    await owner.connect();
    await owner.query(`ALTER TABLE audit_log ADD CONSTRAINT broken CHECK (actor <> 'alice') NOT VALID`);
    await owner.end();
  });

  test('creates no token of workers and revokes none', async () => {
    expect((await act('POST', 'worker-tokens', { name: 'new', pools: ['local'] })).status).toBe(500);
    expect((await act('DELETE', 'worker-tokens/old')).status).toBe(500);
    const { json } = await act('GET', 'worker-tokens');
    expect(json.data).toMatchObject([{ name: 'old', created_by: 'alice', revoked_at: null }]);
  });

  test('drains no host', async () => {
    expect((await act('POST', 'workers/gpu-1/drain')).status).toBe(500);
    expect((await act('GET', 'workers')).json.data).toMatchObject([{ host: 'gpu-1', drained_by: null }]);
  });

  test('pauses no queue', async () => {
    expect((await act('POST', 'queues/webhooks/pause')).status).toBe(500);
    const { json } = await act('GET', 'queues');
    expect(json.data.find(({ name }: { name: string }) => name === 'webhooks').paused).toBe(false);
  });

  test('ends no session of an operator', async () => {
    const id = publicId('browserSession', ended);
    expect((await act('DELETE', `sessions/${id}`)).status).toBe(500);
    expect((await act('GET', 'sessions')).json.data).toMatchObject([{ id, operator: 'carol' }]);
  });
});
