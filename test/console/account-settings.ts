import { picture } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

/** Saves an alert at less than a cent, reads the signing secret and replaces it. */
export async function accountSettings(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  const secret = async () =>
    (await console.server.call('GET', '/api/v1/webhooks/secret', { token: customer.secret })).json.data
      .secret;
  await open('account');
  const low = page.getByLabel('When credits fall below (USD)');
  await low.fill('0.0000005');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  await page.reload();
  await low.waitFor();
  expect(await low.inputValue()).toBe('0.0000005');
  expect(await page.locator('.field-problem').count()).toBe(0);
  await page.getByText('Limits, shared by all keys').waitFor();
  expect(await page.content()).not.toContain(await secret());
  await page.getByRole('button', { name: 'Show the secret' }).click();
  const before = await page.locator('.secret').textContent();
  expect(before).toBe(await secret());
  await page.getByRole('button', { name: 'Replace …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replace', exact: true }).click();
  await page.getByText('The previous secret also signs until').waitFor();
  const after = await page.locator('.secret').textContent();
  expect(after).not.toBe(before);
  expect(after).toBe(await secret());
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await picture(page, `account-settings-${width}`);
  }
  await page.getByRole('button', { name: 'Hide the secret' }).click();
  expect(await page.content()).not.toContain(after ?? '');
  expect(wrongs).toEqual([]);
  await context.close();
}
