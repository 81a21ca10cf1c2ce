import { createCustomer } from '../operators/support/customer.ts';
import { ADMIN_TOKEN } from '../operators/support/operator-server.ts';
import type { ConsoleServer, Visit } from './console-server.ts';

/** Tabs of a browser share its session: what one changes, the others must follow. */

/** Returns what went wrong besides requests that the service refused. */
const wrongsOf = ({ wrongs }: Visit) => wrongs.filter((wrong) => !/status of 40[13]/.test(wrong));

export async function otherAccount(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, context, open } = visit;
  const other = await createCustomer(console.server);
  await open('keys');
  const second = await context.newPage();
  await second.goto(`${console.server.url}/console/account`);
  await second
    .getByText(/^account /)
    .first()
    .click();
  await second.getByRole('button', { name: 'Sign out' }).last().click();
  await second.getByLabel('API key').waitFor();
  await page.getByLabel('API key').waitFor();
  await second.getByLabel('API key').fill(other.secret);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByRole('heading', { name: 'Account', level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('of the other');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.locator('.secret').waitFor();
  const { json } = await console.server.call('GET', '/api/v1/keys', { token: other.secret });
  expect(json.data.map(({ name }: { name: string }) => name)).toContain('of the other');
  expect(wrongsOf(visit)).toEqual([]);
  await context.close();
}

/** Replaces the session of a browser as its other tab does, but without telling. */
async function signInSilently(console: ConsoleServer, { context }: Visit, key: string): Promise<void> {
  const { url } = console.server;
  const answer = await context.request.post(`${url}/api/v1/sessions`, { data: { api_key: key } });
  expect(answer.status()).toBe(201);
}

export async function untoldSession(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn();
  const { page, context, open, customer } = visit;
  await open('keys');
  await signInSilently(console, visit, customer.secret);
  const create = page.getByRole('button', { name: 'Create key' });
  await create.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('with a new proof');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.locator('.secret').waitFor();
  await dialog.getByLabel('I have saved it').check();
  await dialog.getByRole('button', { name: 'Done' }).click();

  const other = await createCustomer(console.server);
  await signInSilently(console, visit, other.secret);
  await create.click();
  await dialog.getByLabel('Name').fill('of nobody');
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: 'Create key' }).click()]);
  await page.locator('#content').getByText('owner').first().waitFor();
  const { json } = await console.server.call('GET', '/api/v1/keys', { token: other.secret });
  expect(json.data).toHaveLength(1);
  expect(wrongsOf(visit)).toEqual([]);
  await context.close();
}

export async function signedInElsewhere(console: ConsoleServer): Promise<void> {
  const { page, context, open, customer } = await console.signIn();
  await open('keys');
  const second = await context.newPage();
  await second.goto(`${console.server.url}/console/account`);
  await second.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
  await context.clearCookies();
  for (const tab of [page, second]) {
    await tab.getByRole('link', { name: 'Billing' }).first().dispatchEvent('click');
    await tab.getByRole('heading', { name: 'Sign in again' }).waitFor();
  }
  const dialog = second.getByRole('dialog');
  await dialog.getByLabel('API key').fill(customer.secret);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Pay/ }).waitFor();
  await context.close();
}

export async function operatorAgain(console: ConsoleServer): Promise<void> {
  const visit = await console.signInOperator();
  const { page, context, open } = visit;
  await open('operator/fleet');
  const row = page.getByRole('row').filter({ hasText: 'webhooks' });
  await row.getByRole('button', { name: 'Pause' }).waitFor();
  const second = await context.newPage();
  await context.clearCookies();
  await second.goto(`${console.server.url}/admin/login?next=/console/operator`);
  await second.getByLabel('token').fill(ADMIN_TOKEN);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByRole('heading', { name: 'Home' }).waitFor();
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText('open').waitFor();
  expect(wrongsOf(visit)).toEqual([]);
  await context.close();
}

export async function wrongKey(console: ConsoleServer): Promise<void> {
  const visit = await console.visit();
  const { page, context, open, customer } = visit;
  await open('');
  await page.getByLabel('API key').fill('sk-tg-v1-wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This is not a key of this service.').waitFor();
  await page.getByLabel('API key').fill(customer.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(wrongsOf(visit)).toEqual([]);
  await context.close();
}
