import { type AccountEvent, AccountEvents } from '../../src/console/account-events.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { silentLog, silentObserver, usd } from '../factories/ledger.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

/** Pages subscribe to events of their account. */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ followersMax: 3 });
});
afterAll(() => server?.close());

type Heard = [event: string, data: Record<string, unknown>];

/** A page that follows events: `next` resolves to the next event, or to undefined at the end of the stream. */
async function follow(headers: Record<string, string>) {
  const leaving = new AbortController();
  const response = await fetch(`${server.url}/api/v1/events`, { headers, signal: leaving.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Heard | undefined> => {
    for (;;) {
      const frame = /^(?:event: (\w+)\ndata: (.*)|:.*)\n\n/.exec(text);
      if (frame) {
        text = text.slice(frame[0].length);
        if (frame[1] !== undefined) {
          return [frame[1], JSON.parse(frame[2] ?? '')];
        }
        continue;
      }
      const { done, value } = await reader.read();
      if (done) {
        return undefined;
      }
      text += value;
    }
  };
  return { status: response.status, next, leave: () => leaving.abort() };
}

/** Returns the next event that is not about money. How many changes of a hold a poll observes is not fixed. */
async function besideMoney(page: { next(): Promise<Heard | undefined> }): Promise<Heard | undefined> {
  const heard = await page.next();
  return heard?.[0] === 'balance' ? besideMoney(page) : heard;
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

async function customer() {
  const { id } = await createAccount(server.database);
  const owner = await createKey(server.database, id);
  const inference = await createKey(server.database, id, { role: 'inference' });
  return { id, owner, inference };
}

async function credit(accountId: string, amount: string): Promise<void> {
  const path = `/admin/v1/accounts/${publicId('account', accountId)}/adjustments`;
  const headers = { 'idempotency-key': newUuid() };
  await server.call('POST', path, { key: ADMIN_TOKEN, headers, body: { amount, description: 'a test' } });
}

async function order(accountId: string, apiKeyId: string): Promise<string> {
  const ledger = new PostgresLedger(new LedgerStore(server.database.money), silentLog, silentObserver);
  const [endpoint, model] = ['/v3/async/image-turbo', 'image-turbo'];
  const kept = { parameters: { prompt: 'a gate' }, seed: 7n, webhookUrl: null, deadlineMs: 3_600_000 };
  const { id } = await ledger.reserve({
    ...{ id: newUuid(), accountId, apiKeyId, requestId: 'req_test', endpoint, model },
    ...{ priceVersion: 'test', amount: usd('0.005'), minimum: usd('0.005') },
    task: { kind: 'image', pool: 'local', ...kept },
  });
  return id;
}

test('reports changes of money, tasks and their progress, to the account only', async () => {
  const [ours, theirs] = [await customer(), await customer()];
  const page = await follow(bearer(ours.owner.secret));
  expect(await page.next()).toEqual(['hello', {}]);
  await credit(theirs.id, '3.00');
  await credit(ours.id, '2.50');
  expect(await page.next()).toEqual([
    'balance',
    { remaining_credits: '12.50', held: '0.00', available: '12.50' },
  ]);
  const task = await order(ours.id, ours.owner.id);
  expect(await besideMoney(page)).toEqual(['task', { id: publicId('generation', task), status: 'queued' }]);
  await server.database.money.query('UPDATE tasks SET progress = 0.5 WHERE id = $1', [task]);
  expect(await page.next()).toEqual(['task', { id: publicId('generation', task), status: 'queued' }]);
  page.leave();
});

test('an inference key receives only events of its own tasks and calls', async () => {
  const { id, owner, inference } = await customer();
  const call = async (apiKeyId: string) =>
    publicId('generation', await createGeneration(server.database, { accountId: id, apiKeyId }));
  const [page, ours] = [await follow(bearer(inference.secret)), await follow(bearer(owner.secret))];
  await page.next();
  await ours.next();
  await order(id, owner.id);
  expect((await besideMoney(ours))?.[0]).toBe('task');
  const free = await call(owner.id);
  expect(await besideMoney(ours)).toEqual(['generation', { id: free }]);
  const own = await order(id, inference.id);
  expect(await besideMoney(page)).toEqual(['task', { id: publicId('generation', own), status: 'queued' }]);
  const called = await call(inference.id);
  expect(await besideMoney(page)).toEqual(['generation', { id: called }]);
  page.leave();
  ours.leave();
});

test('tells every follower to read again after a database outage', async () => {
  const known = { account_id: 'a', posted: '0', held: '0', debt: '0', seq: '1', tasks: [], generation: null };
  const looks = [async () => [known], () => Promise.reject(new Error('away')), async () => [known]];
  const read = async () => (await looks.shift()?.()) ?? [];
  const events = new AccountEvents({ rows: { read }, lookMs: 1 });
  const heard = await new Promise<string[]>((resolve) => {
    const names: string[] = [];
    const tell = (told: readonly AccountEvent[]) => {
      names.push(...told.map(({ event }) => event));
      if (names.length === 2) {
        resolve(names);
      }
    };
    events.follow({ accountId: 'a', apiKeyId: null, tell, end: () => undefined });
  });
  events.close();
  expect([heard, looks.length]).toEqual([['hello', 'hello'], 0]);
});

test('one account cannot take the places of the others', () => {
  const events = new AccountEvents({ rows: { read: async () => [] }, followersPerAccountMax: 2 });
  const join = (accountId: string) =>
    events.follow({ accountId, apiKeyId: null, tell: () => undefined, end: () => undefined });
  const [first, second, third] = [join('a'), join('a'), join('a')];
  expect([first, second, third, join('b')].map((leave) => leave !== undefined)).toEqual([
    true,
    true,
    false,
    true,
  ]);
  first?.();
  first?.();
  expect([join('a'), join('a')].map((leave) => leave !== undefined)).toEqual([true, false]);
  events.close();
});

test('a disabled key and a signed-out browser receive nothing more', async () => {
  const { id, owner } = await customer();
  const cookies = await server.call('POST', '/api/v1/sessions', { body: { api_key: owner.secret } });
  const cookie = cookies.headers.getSetCookie()[0]!.split(';', 1)[0]!;
  const [page, program] = [await follow({ cookie }), await follow(bearer(owner.secret))];
  expect([await page.next(), await program.next()]).toEqual([
    ['hello', {}],
    ['hello', {}],
  ]);
  const headers = { cookie, 'x-csrf-token': cookies.json.data.csrf };
  await server.call('DELETE', '/api/v1/session', { headers });
  expect(await page.next()).toBeUndefined();
  const path = `/admin/v1/accounts/${publicId('account', id)}/keys/${owner.hash}`;
  await server.call('PATCH', path, { key: ADMIN_TOKEN, body: { disabled: true } });
  expect(await program.next()).toBeUndefined();
});

test('asks clients to poll once a process has reached its cap, until a follower leaves', async () => {
  const { owner } = await customer();
  const pages = [];
  for (let page = 0; page < 3; page += 1) {
    pages.push(await follow(bearer(owner.secret)));
  }
  const refused = await server.call('GET', '/api/v1/events', { key: owner.secret });
  expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'service_unavailable',
    '60',
  ]);
  for (const page of pages) {
    await page.next();
    page.leave();
  }
  const again = async (): Promise<number> => {
    const page = await follow(bearer(owner.secret));
    page.leave();
    return page.status;
  };
  let status = await again();
  for (let tries = 0; status !== 200 && tries < 100; tries += 1) {
    status = await again();
  }
  expect(status).toBe(200);
});
