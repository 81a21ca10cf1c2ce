import type { Page } from 'playwright-core';
import type { ConsoleServer, Visit } from './console-server.ts';

/** The service does what it was asked, but its answer never reaches the page. */

const UNKNOWN = 'It is not known whether this was done; trying again does not do it twice.';

/** Loses the answer to the first request with this address. */
async function loseFirst(page: Page, address: string, method = 'POST'): Promise<void> {
  let isFirst = true;
  await page.route(address, async (route) => {
    if (!isFirst || route.request().method() !== method) {
      return route.fallback();
    }
    isFirst = false;
    await route.fetch();
    await route.abort();
  });
}

/** Returns what went wrong besides the request that was lost on purpose. */
const wrongsOf = ({ wrongs }: Visit) => wrongs.filter((wrong) => !wrong.includes('net::ERR_FAILED'));

export async function orderLost(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, leave, open, customer } = visit;
  const tasks = async () =>
    (await console.server.call('GET', '/api/v1/tasks', { token: customer.secret })).json.data.length;
  await loseFirst(page, '**/v3/async/**');
  await open('playground?kind=image');
  await page.getByLabel('Prompt').fill('a toll gate at dusk');
  await page.getByLabel('Size').selectOption('512*512');
  const run = page.getByRole('button', { name: 'Run', exact: true });
  const ordered = page.getByRole('link', { name: 'Ordered. Show the task' });
  await run.click();
  await page.getByRole('alert').getByText(UNKNOWN).waitFor();
  await run.click();
  await ordered.waitFor();
  expect(await tasks()).toBe(1);
  // answered: the same again is a second order
  await Promise.all([page.waitForResponse('**/v3/async/**'), run.click()]);
  expect(await tasks()).toBe(2);
  expect(wrongsOf(visit)).toEqual([]);
  await leave();
}

export async function keyLost(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, leave, open, customer } = visit;
  await loseFirst(page, '**/api/v1/keys');
  await open('keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('once');
  const create = dialog.getByRole('button', { name: 'Create key' });
  await create.click();
  await dialog.getByText(UNKNOWN).waitFor();
  await create.click();
  const secret = (await dialog.locator('.secret').textContent()) ?? '';
  expect((await console.server.call('GET', '/api/v1/key', { token: secret })).status).toBe(200);
  const { json } = await console.server.call('GET', '/api/v1/keys', { token: customer.secret });
  expect(json.data.filter(({ name }: { name: string }) => name === 'once')).toHaveLength(1);
  expect(wrongsOf(visit)).toEqual([]);
  await leave();
}

export async function purchaseLost(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, leave, open } = visit;
  const keys: (string | undefined)[] = [];
  await page.route('**/api/v1/billing/checkout/sessions', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    await (keys.length < 3 ? route.abort() : route.fallback());
  });
  await open('billing');
  const pay = async (amount: string) => {
    await page.getByLabel('Amount in USD').fill(amount);
    await page.getByRole('button', { name: `Pay $${amount}` }).click();
  };
  for (const amount of ['25.00', '30.00']) {
    await pay(amount);
    await page.getByText(UNKNOWN).waitFor();
  }
  await pay('25.00');
  await page.getByRole('heading', { name: 'Buy prepaid credits' }).waitFor();
  expect([keys[0] === keys[1], keys[0] === keys[2]]).toEqual([false, true]);
  expect(wrongsOf(visit)).toEqual([]);
  await leave();
}

export async function chatLost(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, leave, open } = visit;
  await loseFirst(page, '**/chat/completions');
  await open('playground');
  await page.getByLabel('Message').fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText('Asking again is a new call.').waitFor();
  expect(wrongsOf(visit)).toEqual([]);
  await leave();
}
