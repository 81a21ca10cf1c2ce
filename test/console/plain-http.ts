import { PLAIN_HTTP_HOST } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

/** Without https a browser has no clipboard and no UUIDs for pages: a key is created, and its secret copied, all the same. */
export async function keyOverPlainHttp(console: ConsoleServer): Promise<void> {
  const { customer, leave } = await console.visit();
  await leave();
  const context = await console.browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`http://${PLAIN_HTTP_HOST}:${new URL(console.server.url).port}/console/keys`);
  expect(await page.evaluate('isSecureContext')).toBe(false);
  await page.getByLabel('API key').fill(customer.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('first');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  const secret = await page.locator('.secret').textContent();
  const copy = page.getByRole('dialog').getByRole('button', { name: 'Copy' });
  await copy.click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  // a browser that does not copy at all
  await page.evaluate('document.execCommand = () => false');
  await copy.click();
  await page.getByText('Not copied: select the text and copy it.').waitFor();
  await page.getByLabel('I have saved it').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').click();
  await page.keyboard.press('Control+v');
  expect(await page.getByLabel('Name').inputValue()).toBe(secret);
  await context.close();
}

/** A page whose file cannot be loaded while the service restarts is shown once the service is back. */
export async function pageDuringRestart(console: ConsoleServer): Promise<void> {
  const { page, leave } = await console.signIn();
  await page.route('**/*', (route) => route.abort());
  const asked = page.waitForEvent('requestfailed', (request) => request.method() === 'HEAD');
  await page.getByRole('link', { name: 'Billing' }).first().click();
  await asked;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.getByRole('heading', { name: 'Billing' }).waitFor();
  await leave();
}

/** A failure of the service is not taken for a broken connection. */
export async function failedStart(console: ConsoleServer): Promise<void> {
  const { page, open, leave } = await console.signIn();
  const error = { code: 'internal_error', message: 'An unexpected error occurred.' };
  const json = { error, request_id: 'req_1' };
  await page.route('**/api/v1/session', (route) => route.fulfill({ status: 500, json }));
  await page.reload();
  await page.getByText('An unexpected error occurred.').waitFor();
  await page.getByText('req_1').waitFor();
  await page.unrouteAll();
  await page.route('**/api/v1/session', (route) => route.abort());
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The service cannot be reached.').waitFor();
  await page.unrouteAll();
  await open('');
  await leave();
}
