import { picture } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

/** What a form or a page says before anything fails: to operators, and to customers about amounts, paths and percentiles. */
export async function hints(console: ConsoleServer): Promise<void> {
  const operator = await console.signInOperator();
  for (const text of ['%', '🦊']) {
    await operator.open(`operator/search?q=${encodeURIComponent(text)}`);
    await operator.page.getByText('Type at least two characters.').waitFor();
  }
  const { page: seen, customer: found } = operator;
  let answer: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await seen.route(/admin\/v1\/accounts\?/, async (route) => {
    await slow;
    await route.continue();
  });
  await operator.open('operator/accounts');
  await seen.getByLabel('Filter by name').fill('no such name');
  answer();
  await seen.getByText('No accounts, or none that match the filters.').waitFor();
  expect(await seen.getByLabel('Filter by name').inputValue()).toBe('no such name');
  expect(seen.url()).toContain('q=no+such+name');
  await seen.getByLabel('Filter by name').fill('');
  await seen.locator('tbody tr').first().waitFor();
  await seen.unrouteAll({ behavior: 'wait' });
  await operator.open(`operator/accounts/${found.account}`);
  await operator.page.getByRole('button', { name: 'Models and limits …' }).click();
  await operator.page.getByLabel('Models it may call').fill('acme/small\nnosuch/model');
  const warning = operator.page.getByRole('dialog').getByText('No model in the catalog has this ID');
  await warning.waitFor();
  expect(await warning.textContent()).toContain('nosuch/model');
  expect(await warning.textContent()).not.toContain('acme/small');
  await picture(operator.page, 'hints-models');
  expect(operator.wrongs).toEqual([]);

  const { page, context, open, wrongs, customer } = await console.signIn();
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: 'acme/small', messages, max_completion_tokens: 20 };
  await console.server.call('POST', '/api/v1/chat/completions', { token: customer.secret, body });
  await open('billing');
  await page.getByLabel('Amount in USD').fill('1,000.00');
  await page.locator('.ribbon').getByText('moves no money').waitFor();
  await page.getByRole('button', { name: 'Pay $1,000.00' }).click();
  // the page of the test payment says the same
  await page.getByRole('note').getByText('the credits are real inside this installation').waitFor();
  expect(await page.locator('.amount').textContent()).toContain('$1,000.00');
  expect(await page.getByRole('button').allTextContents()).toEqual(['Pay $1,000.00']);
  await open('generations');
  await page
    .getByLabel('Endpoint')
    .locator('option', { hasText: 'acme/photo' })
    .waitFor({ state: 'attached' });
  const paths = await page.getByLabel('Endpoint').locator('option').allTextContents();
  expect(paths).toEqual(
    expect.arrayContaining(['/api/v1/videos', '/api/v1/images/generations', '/v3/async/acme/photo']),
  );
  await open('billing?type=refund');
  await page.getByText('No transactions of this type.').waitFor();
  await open('playground');
  await page.getByLabel('Message').fill('Hello');
  const send = page.getByRole('button', { name: 'Send' });
  expect(await send.isEnabled()).toBe(true);
  await page.getByLabel('Maximum output tokens').fill('-5');
  await page.getByText('A whole number above zero').waitFor();
  expect(await send.isEnabled()).toBe(false);
  await open('account');
  expect(await page.locator('time').last().textContent()).toMatch(/20\d\d/);
  expect(wrongs).toEqual([]);
  await Promise.all([context.close(), operator.context.close()]);
}
