import { picture } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

/** Debits more than an account has. */
export async function operatorsReason(console: ConsoleServer): Promise<void> {
  const { page, context, open, customer } = await console.signInOperator();
  await open(`operator/accounts/${customer.account}`);
  await page.getByRole('button', { name: 'Credit or debit …' }).click();
  await page.getByLabel('Amount in USD').fill('-1,012.50');
  await page.getByLabel('Reason').fill('a correction');
  await page.getByRole('button', { name: 'Book it' }).click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  expect(await alert.textContent()).toContain('Nothing was booked.');
  expect(await alert.textContent()).not.toContain('You paid nothing');
  await context.close();
}

/** Writes a message that the key's limit does not cover, though the credits of the account do. */
export async function limitIsNamed(console: ConsoleServer): Promise<void> {
  const { server } = console;
  const owner = await console.signIn();
  const limited = { name: 'limited', limit: 0.00002 };
  const made = await server.call('POST', '/api/v1/keys', { token: owner.customer.secret, body: limited });
  const { page, context, open } = await console.signIn({}, { ...owner.customer, secret: made.json.key });
  // the credits of the account, and what others spend of them, say little about this key
  const figure = page.locator('.figure').filter({ hasText: 'Left of the limit of your key' });
  await figure.locator('.figure-value').getByText('$0.000').waitFor();
  expect((await figure.locator('.figure-value').textContent())?.replaceAll('\u202f', '')).toBe('$0.00002');
  expect(await page.getByText('At this rate').count()).toBe(0);
  await open('playground');
  await page.getByLabel('Message').fill('Hello '.repeat(20));
  const notice = page.locator('form .notice');
  await notice.getByText('what is left of the limit of your key').waitFor();
  expect(await notice.getByRole('link').count()).toBe(0);
  expect((await notice.textContent())?.replaceAll('\u202f', '')).toContain('$0.00002');
  await picture(page, 'key-limit');

  const stopped = { name: 'stopped', limit: 0 };
  await server.call('POST', '/api/v1/keys', { token: owner.customer.secret, body: stopped });
  await owner.open('keys');
  const spent = owner.page.getByRole('progressbar', { name: /stopped/ });
  await spent.waitFor();
  expect(await spent.getAttribute('value')).toBe('1');
  await Promise.all([context.close(), owner.context.close()]);
}
