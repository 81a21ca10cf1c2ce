import { randomUUID } from 'node:crypto';
import { eventually } from '../factories/eventually.ts';
import type { ConsoleServer } from './console-server.ts';

/** Makes a chat call without enough credits and one too many in a minute. Checks what the page says of each. */
export async function refusals(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  const { account } = customer;
  const change = async (method: string, path: string, body: object) => {
    const headers = { 'idempotency-key': randomUUID() };
    const answer = await console.server.call(method, `/admin/v1/accounts/${account}${path}`, {
      body,
      headers,
    });
    expect(answer.status).toBeLessThan(300);
  };
  await change('POST', '/adjustments', { amount: '-9.9999', description: 'nearly all of it' });
  await open('playground');
  const send = async () => {
    await page.getByLabel('Message').fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
  };
  await send();
  const refusal = page.getByRole('alert');
  await refusal.getByText('Needed at most').waitFor();
  await eventually(
    async () => (await refusal.locator('dd').nth(1).textContent()) !== '–',
    30_000,
    'a balance',
  );
  const [needed, available, held] = (await refusal.locator('dd').allTextContents()).map((text) =>
    text.replaceAll('\u202f', ''),
  );
  expect(Number(needed?.slice(1))).toBeGreaterThan(0.0001);
  expect([available, held]).toEqual(['$0.0001', '$0.00']);
  expect(await refusal.getByRole('link', { name: 'Add credits' }).getAttribute('href')).toContain('billing');
  await change('POST', '/adjustments', { amount: '5', description: 'back' });
  await change('PATCH', '', { rate_limits: { requests_per_minute: 1 } });
  await page.getByRole('button', { name: 'New conversation' }).click();
  // the previous limit is still cached for a moment
  await eventually(
    async () => {
      await send();
      await page.getByRole('button', { name: 'Send' }).waitFor();
      return (await refusal.getByText(/^Try again in \d+ s\.$/).count()) > 0;
    },
    30_000,
    'a call that came too soon',
  );
  const seconds = async () =>
    Number(
      /\d+/.exec(
        await refusal
          .getByText(/^Try again in/)
          .last()
          .innerText(),
      )?.[0],
    );
  const first = await seconds();
  await eventually(async () => (await seconds()) < first, 30_000, 'a lower number');
  expect(wrongs.filter((wrong) => !/status of (402|429)/.test(wrong))).toEqual([]);
  await context.close();
}
