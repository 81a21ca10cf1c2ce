import fc from 'fast-check';
import pg from 'pg';
import type { BrowserContext, Page } from 'playwright-core';
import { writeHistory } from '../../bench/ledger/history.ts';
import { LINE_ITEMS, type LineItem } from '../../src/ledger/ledger.types.ts';
import { type NanoUsd, nanoUsd, parseUsd } from '../../src/lib/money.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import type { ConsoleServer, Visit } from './console-server.ts';

/** Compares the money and the long logs that pages show with the API, the files and the books. */

const HISTORY_CASES = Number(process.env.HISTORY_CASES ?? 1);
const HISTORY_SEED = Number(process.env.HISTORY_SEED ?? 3);
const LOG_ROWS = Number(process.env.LOG_ROWS ?? 10_100);
const FIRST_PAGE_MS = 300;
const NO_HIT_MS = 500;
/** UTC−11, UTC, UTC+5:30, UTC+14. */
const ZONES = ['Pacific/Pago_Pago', 'UTC', 'Asia/Kolkata', 'Pacific/Kiritimati'];

interface Account {
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly secret: string;
}

/** Creates an account older than everything booked on it here. */
async function oldAccount({ server }: ConsoleServer): Promise<Account> {
  const { database, url } = server.db;
  const { id: accountId } = await atTime(url, database, '-32 days', (then) => createAccount(then));
  const { id: apiKeyId, secret } = await createKey(database, accountId);
  return { accountId, apiKeyId, secret };
}

async function signInWith({ server }: ConsoleServer, context: BrowserContext, secret: string): Promise<void> {
  const answer = await context.request.post(`${server.url}/api/v1/sessions`, { data: { api_key: secret } });
  expect(answer.status()).toBe(201);
}

interface Call {
  readonly hoursAgo: number;
  readonly key: 0 | 1;
  readonly model: string;
  readonly endpoint: string;
  readonly lines: Partial<Record<LineItem, NanoUsd>>;
}

const nano = fc.bigInt({ min: 1n, max: 30_000_000n }).map((value) => nanoUsd(value));
const call: fc.Arbitrary<Call> = fc.record({
  hoursAgo: fc.constantFrom(0, 1, 11, 23, 25, 170, 700),
  key: fc.constantFrom(0 as const, 1 as const),
  model: fc.constantFrom('acme/small', 'acme/large', 'a', 'b', 'c', 'd', 'e'),
  endpoint: fc.constantFrom('/api/v1/chat/completions', '/v3/async/image-turbo'),
  lines: fc.dictionary(fc.constantFrom(...LINE_ITEMS), nano, {
    minKeys: 1,
    noNullPrototype: true,
  }) as fc.Arbitrary<Call['lines']>,
});
const view = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 12 }),
  range: fc.constantFrom('24h', '7d', '30d'),
  group: fc.constantFrom('model', 'api_key', 'endpoint', 'line'),
});

async function book({ server }: ConsoleServer, account: Account, calls: readonly Call[]): Promise<void> {
  const { database, url } = server.db;
  const other = await createKey(database, account.accountId, { role: 'inference' });
  for (const hours of [...new Set(calls.map(({ hoursAgo }) => hoursAgo))].sort((a, b) => b - a)) {
    await atTime(url, database, `-${hours} hours`, async (then) => {
      for (const { key, hoursAgo, ...made } of calls.filter((each) => each.hoursAgo === hours)) {
        const apiKeyId = key === 0 ? account.apiKeyId : other.id;
        await createGeneration(then, { accountId: account.accountId, apiKeyId, ...made });
      }
    });
  }
}

const sumOf = (amounts: readonly string[]): bigint =>
  amounts.reduce((sum, text) => sum + (parseUsd(text.replace(/[$\s]/gu, '')) ?? nanoUsd(0)), 0n);

interface Seen {
  readonly total: bigint;
  readonly rows: bigint;
  /** The path that the page requested from the API. */
  readonly path: string;
}

async function costsOn(page: Page, address: string): Promise<Seen> {
  const asked = page.waitForResponse((answer) => answer.url().includes('/api/v1/costs?'));
  await page.goto(address);
  const { pathname, search } = new URL((await asked).url());
  await page.getByText('Nothing was spent in this period.').or(page.locator('tfoot')).first().waitFor();
  await page.getByText('= ledger ✓').waitFor();
  const amounts = (place: string) => page.locator(`${place} .amount`).allTextContents();
  const [total, rows] = await Promise.all([amounts('tfoot'), amounts('tbody')]);
  return { total: sumOf(total), rows: sumOf(rows), path: pathname + search };
}

/** Expects the same total from every source. */
async function expectSame(console: ConsoleServer, account: Account, seen: Seen): Promise<void> {
  const { server } = console;
  const read = async (accept: string) =>
    await server.call('GET', seen.path, { token: account.secret, headers: { accept } });
  const { json } = await read('application/json');
  const costs = sumOf(json.data.map((row: { amount: { value: string } }) => row.amount.value));
  const [head = '', ...lines] = (await read('text/csv')).text.trim().split('\r\n');
  const column = head.split(',').indexOf('amount');
  const file = sumOf(lines.map((line) => line.split(',')[column] ?? ''));
  const start = new URLSearchParams(seen.path.split('?')[1]).get('start_time');
  const { rows } = await server.db.database.money.query(
    `SELECT coalesce(-sum(amount), 0)::text AS charged FROM ledger_entries
      WHERE account_id = $1 AND type = 'usage_charge' AND at >= $2`,
    [account.accountId, start],
  );
  const ledger = BigInt(rows[0].charged);
  expect({ ...seen, costs, file }).toEqual({
    ...seen,
    total: ledger,
    rows: ledger,
    costs: ledger,
    file: ledger,
  });
}

/** Checks HISTORY_CASES random accounts, each from four time zones. */
export async function totalsAddUp(console: ConsoleServer): Promise<void> {
  const visits = await Promise.all(ZONES.map((timezoneId) => console.visit({ timezoneId })));
  await fc.assert(
    fc.asyncProperty(view, async ({ calls, range, group }) => {
      const account = await oldAccount(console);
      await book(console, account, calls);
      await Promise.all(
        visits.map(async ({ page, context }) => {
          await signInWith(console, context, account.secret);
          const address = `${console.server.url}/console/usage?range=${range}&group=${group}`;
          await expectSame(console, account, await costsOn(page, address));
        }),
      );
    }),
    { numRuns: HISTORY_CASES, seed: HISTORY_SEED, endOnFailure: true },
  );
  expect(visits.flatMap(({ wrongs }) => wrongs)).toEqual([]);
  await Promise.all(visits.map(({ context }) => context.close()));
}

/** Adds one nano-dollar too much to a roll-up, as a bug would, and takes it back: the database's books are checked at the end. */
async function tampered(
  { server }: ConsoleServer,
  account: Account,
  model: string,
  look: () => Promise<void>,
): Promise<void> {
  const owner = new pg.Client({ connectionString: server.db.ownerUrl });
  await owner.connect();
  const add = async (nano: number) => {
    const { rowCount } = await owner.query(
      `UPDATE usage_rollups SET charge = charge + ${nano}, charge_input = charge_input + ${nano} WHERE account_id = $1 AND model = $2`,
      [account.accountId, model],
    );
    expect(rowCount).toBe(1);
  };
  await add(1);
  try {
    await look();
  } finally {
    await add(-1);
    await owner.end();
  }
}

/** Expects a page to show by how much costs differ from the ledger, and not to report a running period as an error. */
export async function differenceIsTold(console: ConsoleServer): Promise<void> {
  const { page, context, wrongs } = await console.visit();
  const account = await oldAccount(console);
  const { accountId, apiKeyId } = account;
  const { database, url } = console.server.db;
  const made = { accountId, apiKeyId, charge: '0.5' };
  await atTime(url, database, '-1 hours', (then) => createGeneration(then, { ...made, model: 'before' }));
  await createGeneration(database, { ...made, model: 'now' });
  await signInWith(console, context, account.secret);
  const look = async (text: string) => {
    await page.goto(`${console.server.url}/console/usage?range=24h`);
    await page.locator('.ledger-mark').getByText(text).waitFor();
    return (await page.locator('.ledger-mark').textContent())?.replace(/\s/gu, ' ');
  };
  await look('= ledger ✓');
  await tampered(console, account, 'before', async () => {
    expect(await look('≠ ledger')).toBe(
      '≠ ledger The ledger charged less than shown here, by $0.000 000 001',
    );
  });
  await tampered(console, account, 'now', async () => {
    expect(await look('= ledger until')).toMatch(
      /^= ledger until \d\d:\d[05] UTC ✓ Calls ended while this was loading\.$/,
    );
  });
  await look('= ledger ✓');
  expect(wrongs).toEqual([]);
  await context.close();
}

async function fastest(work: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let time = 0; time < 5; time += 1) {
    const startedAt = performance.now();
    await work();
    took.push(performance.now() - startedAt);
  }
  return Math.min(...took);
}

/**
 * Checks the log of an account with LOG_ROWS calls: it loads in time with one request per page and does not move while someone reads
 * it.
 */
export async function longLog(console: ConsoleServer): Promise<void> {
  const { server } = console;
  const account = await oldAccount(console);
  const owner = new pg.Client({ connectionString: server.db.ownerUrl });
  await owner.connect();
  await writeHistory(owner, account, LOG_ROWS);
  await owner.query('UPDATE balances SET last_at = now() WHERE account_id = $1', [account.accountId]);
  await owner.end();
  const list = (query: string) =>
    server.call('GET', `/api/v1/generations?limit=50${query}`, { token: account.secret });
  expect((await list('&model=acme/small')).json).toMatchObject({
    data: [],
    searched_until: expect.stringMatching(/Z$/),
  });
  const [firstPage, noHit] = [await fastest(() => list('')), await fastest(() => list('&model=acme/small'))];
  process.env.LOG_ROWS &&
    process.stderr.write(`${LOG_ROWS} calls: ${firstPage} ms, without a hit ${noHit} ms\n`);
  expect(firstPage).toBeLessThan(FIRST_PAGE_MS);
  expect(noHit).toBeLessThan(NO_HIT_MS);

  const visit = await console.visit();
  await signInWith(console, visit.context, account.secret);
  await withoutHit(visit);
  await whileReading(console, visit, account);
  expect(visit.wrongs).toEqual([]);
  await visit.context.close();
}

async function withoutHit({ page, open, requests }: Visit): Promise<void> {
  // the newest page is read again every 10 s, which depends on time and not on the page
  const pages = () => new Set(requests.filter((line) => line.includes('/api/v1/generations?')));
  await open('generations?model=acme%2Fsmall');
  await page.getByText('Searched back to').waitFor();
  expect(pages().size).toBe(1);
  const further = page.waitForResponse((answer) => answer.url().includes('cursor='));
  await page.getByRole('button', { name: 'Continue' }).click();
  await further;
  expect(pages().size).toBe(2);
}

/** Expects rows to stay in place while someone reads older ones, and newer rows to appear on request. */
async function whileReading({ server }: ConsoleServer, visit: Visit, account: Account): Promise<void> {
  const { page, open } = visit;
  await open('generations');
  await page.getByRole('button', { name: 'Load older' }).click();
  const rows = page.locator('tbody tr');
  await rows.nth(99).waitFor();
  const before = await rows.allTextContents();
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: 'acme/small', messages, max_completion_tokens: 5 };
  await server.call('POST', '/api/v1/chat/completions', { token: account.secret, body });
  const waiting = page.getByRole('button', { name: '1 new' });
  await waiting.waitFor();
  expect(await rows.allTextContents()).toEqual(before);
  await waiting.click();
  await rows.first().getByText('acme/small').waitFor();
  expect(await waiting.count()).toBe(0);
}
