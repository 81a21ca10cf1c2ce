import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { picture } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

const WIDTHS = [1440, 1100, 768, 390];
/** The longest name that the API takes, without a place to break it. */
const NAME = 'W'.repeat(200);

/** Figures whose content is wider than they are. */
const OVERLAPPING = `[...document.querySelectorAll('.figure')].filter((figure) => {
  const { right } = figure.getBoundingClientRect();
  return [...figure.querySelectorAll('.amount')].some((amount) => amount.getBoundingClientRect().right > right);
}).map((figure) => figure.textContent)`;

async function inAllWidths(page: Page, name: string, look: (width: number) => Promise<void>): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await look(width);
    await picture(page, `${name}-${width}`);
  }
}

/** Key figures whose amount is in more than one line. */
const BROKEN = `[...document.querySelectorAll('.figure-value .amount')]
  .filter((amount) => amount.getClientRects().length > 1).map(({ textContent }) => textContent)`;

/** Shows amounts with nine decimals, as cards and in full beside them, and then an amount of eight digits. */
export async function longAmounts(console: ConsoleServer): Promise<void> {
  const { page, context, open, customer } = await console.signIn();
  const path = `/admin/v1/accounts/${customer.account}/adjustments`;
  const headers = { 'idempotency-key': randomUUID() };
  const body = { amount: '1194.110234567', reason: 'grant', description: 'many digits' };
  expect((await console.server.call('POST', path, { body, headers })).status).toBe(201);
  const operator = await console.signInOperator();
  await open('billing');
  await operator.open(`operator/accounts/${customer.account}`);
  for (const [seen, name] of [
    [page, 'billing'],
    [operator.page, 'operator-account'],
  ] as const) {
    const amount = seen.locator('.figure').filter({ hasText: 'Balance' }).locator('.amount').first();
    await inAllWidths(seen, name, async (width) => {
      expect([name, width, await seen.evaluate(OVERLAPPING)]).toEqual([name, width, []]);
      expect(await amount.textContent()).toBe('$1,204.11');
      expect(await amount.getAttribute('title')).toBe('1204.110234567 USD');
    });
  }
  const large = { ...body, amount: '9999999' };
  const again = { 'idempotency-key': randomUUID() };
  expect((await console.server.call('POST', path, { body: large, headers: again })).status).toBe(201);
  await operator.page.reload();
  await operator.page.getByText('$10,001,203.11').first().waitFor();
  await inAllWidths(operator.page, 'operator-account-large', async (width) => {
    expect([width, await operator.page.evaluate(BROKEN)]).toEqual([width, []]);
  });
  await Promise.all([context.close(), operator.context.close()]);
}

const isTooWide = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

/** The buttons of the topmost dialog or of the open menu that are not wholly in the window sideways. */
const HIDDEN = `[...document.querySelectorAll('dialog[open] button, details[open] .menu *')].filter((button) => {
  const { left, right } = button.getBoundingClientRect();
  return left < 0 || right > innerWidth;
}).map((button) => button.getAttribute('aria-label') ?? button.textContent)`;

/** Returns in which widths a page is wider than the window, or hides a button of what is open. */
async function wrongsOf(page: Page, name: string): Promise<unknown[]> {
  const wrongs: unknown[] = [];
  await inAllWidths(page, name, async (width) => {
    const isWide = await isTooWide(page);
    const hidden = await page.evaluate<string[]>(HIDDEN);
    if (isWide || hidden.length > 0) {
      wrongs.push([name, width, isWide ? 'too wide' : '', ...hidden]);
    }
  });
  return wrongs;
}

/** Names account, keys and browsers as long as they can be. Visits what shows them, with dialogs and menus open. */
export async function longNames(console: ConsoleServer): Promise<void> {
  const { page, context, open, customer } = await console.signIn();
  const { call } = console.server;
  const wrongs: unknown[] = [];
  const looks = async (at: Page, name: string) => wrongs.push(...(await wrongsOf(at, name)));
  const account = `/admin/v1/accounts/${customer.account}`;
  expect((await call('PATCH', account, { body: { name: NAME } })).status).toBe(200);
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const body = { name: NAME, limit: 1, expires_at: soon };
  const made = await call('POST', '/api/v1/keys', { token: customer.secret, body });
  expect(made.status).toBe(201);
  await call('PATCH', `/api/v1/keys/${customer.hash}`, { token: customer.secret, body: { name: NAME } });
  await page.reload();
  await open('');
  await page.getByText(`Key “${NAME}” expires within a day`).waitFor();
  await looks(page, 'long-overview');
  await page.locator('.account-menu summary').click();
  await looks(page, 'long-menu');
  for (const path of [
    'account',
    'generations',
    'tasks',
    'usage?group=api_key',
    'members',
    'billing',
    'playground',
  ]) {
    await open(path);
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await looks(page, `long-${path.replace(/\W+/g, '-')}`);
  }
  await open(`keys?key=${made.json.data.hash}`);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).waitFor();
  await looks(page, 'long-key');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).first().click();
  await looks(page, 'long-key-delete');
  const operator = await console.signInOperator();
  for (const path of [
    `operator/accounts/${customer.account}`,
    `operator/accounts/${customer.account}?tab=keys`,
    'operator/accounts',
    `operator/search?q=${NAME}`,
    'operator/audit',
  ]) {
    await operator.open(path);
    await operator.page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await looks(operator.page, path.replace(/\W+/g, '-').slice(0, 60));
  }
  await operator.open(`operator/accounts/${customer.account}`);
  for (const button of ['Suspend …', 'Credit or debit …', 'Models and limits …']) {
    await operator.page.getByRole('button', { name: button }).click();
    await looks(operator.page, `long-${button.replace(/\W+/g, '-')}`);
    await operator.page.keyboard.press('Escape');
  }
  expect(wrongs).toEqual([]);
  await Promise.all([context.close(), operator.context.close()]);
}
