import { createCustomer } from '../operators/support/customer.ts';
import { ADMIN_TOKEN } from '../operators/support/operator-server.ts';
import type { ConsoleServer, Visit } from './console-server.ts';

/** What operators come for. `visit` is a signed-in operator. */

export async function ledToLogin(console: ConsoleServer): Promise<void> {
  const { page, context, customer } = await console.visit();
  const path = `/console/operator/accounts/${customer.account}?tab=transactions`;
  await page.goto(`${console.server.url}${path}`);
  await page.waitForURL(/admin\/login\?next=%2Fconsole%2Foperator%2Faccounts/);
  await page.getByLabel('token').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${console.server.url}${path}`);

  // a page that is open leads to the login by itself once it asks for something, which would interrupt the visit below
  await page.goto('about:blank');
  await context.clearCookies();
  const { provider } = console;
  provider.people.deep = { email: 'deep@example.com', email_verified: true, groups: ['tollgate-operators'] };
  provider.person = 'deep';
  await page.goto(`${console.server.url}${path}`);
  await page.getByRole('link', { name: 'Sign in with Acme SSO' }).click();
  await page.waitForURL(`${console.server.url}${path}`);
  await page.getByRole('link', { name: 'Transactions' }).waitFor();
  await context.close();
}

export async function homeAndProof(visit: Visit): Promise<void> {
  const { page, open } = visit;
  await open('operator');
  await page.getByText('None.').waitFor();
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await page.getByText('alive').first().waitFor();
  await page.getByRole('link', { name: 'Money' }).first().click();
  await page.getByRole('button', { name: 'Check the books now' }).click();
  await page.getByText(/All \d+ invariants hold/).waitFor();
}

export async function accountServed(console: ConsoleServer, visit: Visit): Promise<void> {
  const { page, open, customer } = visit;
  const call = (method: string, path: string, body?: unknown) =>
    console.server.call(method, path, { token: customer.secret, body });
  const messages = [{ role: 'user', content: 'a secret of the customer' }];
  const chat = { model: 'acme/small', messages, max_completion_tokens: 20 };
  const answer = await call('POST', '/api/v1/chat/completions', chat);
  expect(answer.status).toBe(200);
  const charge = answer.headers.get('x-generation-id') ?? '';
  const balance = async () => (await call('GET', '/api/v1/credits')).json.data.remaining_credits;

  await open('operator');
  await page.getByRole('searchbox').fill(charge);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: charge }).click();
  const sheet = page.getByRole('dialog').first();
  await sheet.getByText('usage charge').waitFor();
  expect(await page.content()).not.toContain('a secret of the customer');
  await sheet.getByRole('button', { name: 'Refund …' }).click();
  await page.getByLabel('Reason').fill('<b>unusable</b>');
  await page.getByRole('button', { name: 'Book it' }).dblclick();
  await sheet.getByRole('cell', { name: 'refund' }).waitFor();
  await sheet.getByText('The whole charge was refunded.').waitFor();
  expect(await sheet.getByRole('button', { name: 'Refund …' }).count()).toBe(0);
  expect(await balance()).toBe('10.00');
  await page.keyboard.press('Escape');

  await page.getByRole('link', { name: customer.account }).first().click();
  await page.getByRole('button', { name: 'Credit or debit …' }).click();
  await page.getByLabel('Amount in USD').fill('2.50');
  await page.getByLabel('Reason').fill('goodwill');
  await page.getByRole('button', { name: 'Book it' }).click();
  await page.locator('.figure').filter({ hasText: 'Balance' }).getByText('$12.50').waitFor();
  expect(await balance()).toBe('12.50');

  await page.getByRole('button', { name: 'Suspend …' }).click();
  await page.getByRole('button', { name: 'Suspend', exact: true }).click();
  await page.getByRole('button', { name: 'Lift suspension' }).waitFor();
  expect((await call('POST', '/api/v1/chat/completions', chat)).json.error.code).toBe('account_suspended');
  await page.getByRole('button', { name: 'Lift suspension' }).click();
  await page.getByRole('button', { name: 'Suspend …' }).waitFor();
  await page.getByRole('link', { name: 'Audit log' }).last().click();
  await page.getByRole('cell', { name: 'account.update' }).first().waitFor();

  const gone = `accounts/${(await createCustomer(console.server)).account}`;
  expect((await console.server.call('DELETE', `/admin/v1/${gone}`)).status).toBe(200);
  await open(`operator/${gone}`);
  await page.getByText('Erased: closed for good.').waitFor();
  expect(await page.getByRole('button', { name: 'Lift suspension' }).count()).toBe(0);
  await open('operator/accounts');
  await page.getByRole('row').filter({ hasText: '○ erased' }).first().waitFor();
}

export async function marginAndProof(console: ConsoleServer, visit: Visit): Promise<void> {
  const { page, open } = visit;
  const [end, day] = [Math.ceil(Date.now() / 300_000) * 300_000, 86_400_000];
  const [start_time, end_time] = [end - day, end].map((time) => new Date(time).toISOString());
  const path = `/admin/v1/reports/margin?group_by=model&start_time=${start_time}&end_time=${end_time}`;
  const { data } = (await console.server.call('GET', path)).json;
  const model = data.find((row: { model: string }) => row.model === 'acme/small');
  const known = 1 - Number(model.charged_without_cost) / Number(model.charged);
  await open('operator/money?range=24h');
  const cells = page.getByRole('row').filter({ hasText: 'acme/small' }).getByRole('cell');
  await cells.first().waitFor();
  const texts = await cells.allTextContents();
  expect(texts.slice(-2)).toEqual([`${(Math.floor(known * 1_000) / 10).toFixed(1)} %`, String(model.calls)]);
  await open('operator');
  const proof = page.locator('.figure').filter({ hasText: 'Ledger check' });
  await proof.getByText('They add up').waitFor();
  await proof.locator('time').waitFor();
}

export async function signedOutByAnother(console: ConsoleServer, visit: Visit): Promise<void> {
  const { provider, server } = console;
  const email = 'a-name-as-long-as-some-are.of-the-night-shift@example.com';
  provider.people.opa = { email, email_verified: true, groups: ['tollgate-operators'] };
  provider.person = 'opa';
  const { page, context } = await console.visit({ viewport: { width: 360, height: 800 } });
  await page.goto(`${server.url}/admin/login?next=/console/operator`);
  await page.getByRole('link', { name: 'Sign in with Acme SSO' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.goto(`${server.url}/console/operator/sessions`);
  await page.getByRole('link', { name: 'Sign out here' }).waitFor();
  await page.locator('.account-menu summary').click();
  const name = page.locator('.account-menu .menu-name').filter({ visible: true });
  expect(await name.textContent()).toBe(email);
  expect(await name.evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);

  await visit.open('operator/sessions');
  const row = visit.page.getByRole('row').filter({ hasText: email });
  await row.getByRole('button', { name: 'Sign out' }).click();
  await row.waitFor({ state: 'detached' });
  await page.reload();
  await page.waitForURL(/admin\/login/);
  await context.close();
}

export async function queueAndKey(console: ConsoleServer, visit: Visit): Promise<void> {
  const { page, open, customer } = visit;
  await open('operator/fleet');
  const row = page.getByRole('row').filter({ hasText: 'webhooks' });
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText('open').waitFor();
  await open(`operator/accounts/${customer.account}?tab=keys`);
  await page.getByRole('button', { name: 'Disable' }).first().click();
  await page.getByRole('button', { name: 'Enable' }).first().waitFor();
  const path = '/api/v1/credits';
  expect((await console.server.call('GET', path, { token: customer.secret })).json.error.code).toBe(
    'key_disabled',
  );
}
