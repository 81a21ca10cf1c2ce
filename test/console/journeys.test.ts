import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { picture } from '../browser/browser.ts';
import { eventually } from '../factories/eventually.ts';
import { orderVideo } from '../operators/support/customer.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { type ConsoleServer, startConsole, type Visit } from './console-server.ts';
import { areText } from './hostile-strings.ts';
import { ALARM_MS_MAX, type KilledWorker, killLastWorker } from './killed-worker.ts';
import { byAddress, byKeyboard, elsewhere, firstAnswer } from './navigation.ts';
import {
  accountServed,
  homeAndProof,
  ledToLogin,
  marginAndProof,
  queueAndKey,
  signedOutByAnother,
} from './operators.ts';
import { refusals } from './refusals.ts';

/** What people come for, done with mouse and keyboard in a real browser against the real service. */

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(6);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

describe('operators', () => {
  let visit: Visit;
  beforeAll(async () => {
    visit = await console.signInOperator();
  });
  afterEach(() => {
    expect(visit?.wrongs ?? []).toEqual([]);
  });
  afterAll(() => visit?.context.close());

  test('redirects anyone who is not signed in to the operators’ login and back', () => ledToLogin(console));
  test('home shows the running worker and no problems, and proves the books on request', () =>
    homeAndProof(visit));
  test('finds an account, credits it once, refunds its charge, suspends it and lifts the suspension', () =>
    accountServed(console, visit));
  test("shows a model's margin with the share of its charges whose cost is known, and the age of the last proof of the books", () =>
    marginAndProof(console, visit));
  test('lists an operator who signed in through the OpenID provider with their browser, and another operator signs them out', () =>
    signedOutByAnother(console, visit));
  test('pauses and resumes a queue, and disables a key', () => queueAndKey(console, visit));
});

interface Ordered {
  readonly seed: string;
  readonly parameters: object;
  readonly outputs: readonly { readonly sha256: string }[];
}

async function signOut(page: Page): Promise<void> {
  await page
    .getByText(/^account /)
    .first()
    .click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

test('signing in stores the key nowhere, and signing out ends the session', async () => {
  const { page, context, customer, wrongs } = await console.signIn();
  const kept = await page.evaluate(
    'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie + location.href',
  );
  const cookies = JSON.stringify(await context.cookies());
  expect(kept + cookies).not.toContain(customer.secret);
  expect(console.server.log.text).not.toContain(customer.secret);
  await signOut(page);
  expect(wrongs).toEqual([]);
  await context.close();
});

test('signing out starts no reads while the session ends', async () => {
  const { page, context, customer, wrongs } = await console.signIn();
  await page.route('**/api/v1/session', async (route) => {
    const ended = await route.fetch();
    // the stream of events announces this order to the page, which then reloads what it shows
    await orderVideo(console.server, customer);
    await pause(3_000);
    await route.fulfill({ response: ended });
  });
  await signOut(page);
  expect(wrongs).toEqual([]);
  await context.close();
});

test('a new key shows its secret once and can make calls', async () => {
  const { page, context, open, wrongs } = await console.signIn();
  await open('keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('<img src=x onerror=alert(1)>');
  await dialog.getByLabel('Spending limit in USD (optional)').fill('0.000000001');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  const secret = (await dialog.locator('.secret').textContent()) ?? '';
  const answer = await console.server.call('GET', '/api/v1/key', { token: secret });
  expect(answer.json.data).toMatchObject({ limit: 1e-9, role: 'inference' });
  await page.keyboard.press('Escape');
  await dialog.getByLabel('I have saved it').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: '<img src=x onerror=alert(1)>' }).waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(wrongs).toEqual([]);
  await context.close();
});

test('a payment with test money returns to Billing with the new balance, without a reload; taken back, it is shown as a debt', async () => {
  const { page, context, open, wrongs, customer } = await console.signIn();
  await open('billing');
  await page.getByRole('button', { name: 'Pay $25.00' }).click();
  await page.getByRole('heading', { name: 'Buy prepaid credits' }).waitFor();
  await page.getByRole('button', { name: 'Pay $25.00' }).click();
  await page.waitForURL(/console\/billing\?session=cs_/);
  await page.getByText('have been added to the balance').waitFor();
  await page.locator('.figure').filter({ hasText: 'Available' }).getByText('$35.00').first().waitFor();
  await page.getByRole('cell', { name: 'credit purchase' }).waitFor();
  // a second tab with the same payment page, left by its link
  const paid = new URL(page.url()).searchParams.get('session');
  await open(`billing?cancelled=${paid}`);
  await page.getByText('have been added to the balance').waitFor();
  const book = async (path: string, body: object) => {
    const url = `/admin/v1/accounts/${customer.account}/${path}`;
    expect((await console.server.call('POST', url, { body })).status).toBe(201);
  };
  const list = '/api/v1/billing/balance-transactions?type=credit_purchase';
  const [purchase] = (await console.server.call('GET', list, { token: customer.secret })).json.data;
  await book('adjustments', { amount: '-35.00', description: 'Fee' });
  await book('refunds', { transaction_id: purchase.id, amount: '25.00', description: 'Chargeback' });
  await open('billing');
  await page.locator('.figure').filter({ hasText: 'Debt' }).getByText('$25.00').waitFor();
  expect(wrongs).toEqual([]);
  await context.close();
});

test('a chat streams, costs at most what was shown, and shows a hostile answer as text', async () => {
  const { page, context, open, wrongs, customer } = await console.signIn();
  await open('playground');
  await page.getByLabel('Message').fill('Say <img src=x onerror=alert(1)> back to me');
  await page.getByText('tokens in').waitFor();
  const shown = await page.locator('.form-row .amount[title]').first().getAttribute('title');
  await page.getByRole('button', { name: 'Send' }).dblclick();
  await page.getByRole('link', { name: 'Details' }).waitFor();
  const rows = (await console.server.call('GET', '/api/v1/generations', { token: customer.secret })).json
    .data;
  expect(rows).toHaveLength(1);
  expect(Number(rows[0].charged_amount)).toBeLessThanOrEqual(Number.parseFloat(shown ?? '0'));
  expect(await page.locator('.turn img').count()).toBe(0);
  await page.getByRole('link', { name: 'Details' }).click();
  await page.getByRole('dialog').getByText(rows[0].id).waitFor();
  await page.goBack();
  expect(wrongs).toEqual([]);
  await context.close();
});

test('an image is ordered, made, shown and made again, and its cost matches the books', async () => {
  const { page, context, open, wrongs, customer, requests } = await console.signIn();
  await open('playground?kind=image');
  await page.getByLabel('Prompt').fill('a toll gate at dawn');
  await page.getByLabel('Size').selectOption('512*512');
  await page.getByRole('button', { name: 'Run' }).click();
  // the picture comes where it was ordered
  await page.locator('.ordered img').waitFor({ timeout: 60_000 });
  await picture(page, 'play-ordered');
  await page.getByRole('link', { name: 'Ordered. Show the task' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByRole('img').waitFor({ timeout: 60_000 });
  await sheet.getByText('a toll gate at dawn').waitFor();
  await eventually(
    async () => (await page.evaluate('document.querySelector("dialog img").naturalWidth')) === 512,
    30_000,
    'the whole image',
  );
  await sheet.getByRole('link', { name: 'Run again with this seed' }).click();
  expect(await page.getByLabel('Prompt').inputValue()).toBe('a toll gate at dawn');
  expect(await page.getByLabel('Size').inputValue()).toBe('512*512');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('link', { name: 'Ordered. Show the task' }).click();
  await sheet.getByRole('img').waitFor({ timeout: 60_000 });
  const { data } = (await console.server.call('GET', '/api/v1/tasks', { token: customer.secret })).json;
  const [again, first] = data.map(({ seed, parameters, outputs }: Ordered) => ({
    ...{ seed, parameters, picture: outputs[0]?.sha256 },
  }));
  expect(again).toEqual(first);
  // a gallery costs one request plus the images: no address redirects, and what is cached is not requested again
  await page.goto('about:blank');
  requests.length = 0;
  await open('tasks');
  await page.locator('.card img').nth(1).waitFor();
  // an event of the order may still come, and the list is then read again
  expect(new Set(requests.filter((line) => line.includes('/api/v1/tasks'))).size).toBe(1);
  await open('usage');
  const total = await page.locator('tfoot .amount').textContent();
  expect(total?.replaceAll('\u202f', '')).toBe('$0.01');
  const credits = (await console.server.call('GET', '/api/v1/credits', { token: customer.secret })).json.data;
  expect(credits.total_usage).toBe('0.01');
  expect(wrongs).toEqual([]);
  await context.close();
});

test('saves the notification settings of the account and shows them again', async () => {
  const { page, context, open, wrongs, customer } = await console.signIn();
  await open('account');
  await page.getByLabel('Webhook URL').fill('https://hooks.example/tollgate');
  await page.getByLabel('When credits fall below (USD)').fill('12.50');
  await page.getByLabel('When a key has spent').fill('80');
  const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save' }).click();
  expect((await saved).status()).toBe(200);
  const path = '/api/v1/webhooks/alerts';
  const { json } = await console.server.call('GET', path, { token: customer.secret });
  expect(json.data).toEqual({
    url: 'https://hooks.example/tollgate',
    credits_low: 12.5,
    key_limit_near: 80,
  });
  await page.reload();
  expect(await page.getByLabel('When credits fall below (USD)').inputValue()).toBe('12.50');
  expect(wrongs).toEqual([]);
  await context.close();
});

test('a key that is disabled elsewhere asks for another one on top of the page', async () => {
  const { page, context, open, customer } = await console.signIn();
  await open('keys');
  const path = `/admin/v1/accounts/${customer.account}/keys/${customer.hash}`;
  expect((await console.server.call('PATCH', path, { body: { disabled: true } })).status).toBe(200);
  await isAskedToSignInAgain(page);
  await context.close();
});

test('an invited person signs in as themselves, can do what their role allows, and is signed out when removed', async () => {
  const owner = await console.signIn();
  await owner.open('members');
  await owner.page.getByRole('button', { name: 'Invite a member' }).click();
  const dialog = owner.page.getByRole('dialog');
  await dialog.getByLabel('E-mail address').fill('ada@example.com');
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click();
  const link = (await dialog.locator('.secret').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();

  const { provider } = console;
  provider.people.ada = { email: 'ada@example.com', email_verified: true, name: 'Ada <b>Lovelace</b>' };
  provider.person = 'ada';
  const { page, context, open, wrongs } = await console.visit();
  await page.goto(link);
  await page.getByText('You are invited.').waitFor();
  await page.getByRole('link', { name: 'Sign in with Acme SSO' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await open('members');
  await page.locator('#content').getByText('ada@example.com').first().waitFor();
  expect(await page.getByRole('button', { name: 'Invite a member' }).count()).toBe(0);
  await open('billing');
  await page.getByRole('heading', { name: 'Billing' }).waitFor();
  expect(await page.getByRole('button', { name: /^Pay/ }).count()).toBe(0);
  await open('keys');
  await page.getByRole('button', { name: 'Create key' }).waitFor();

  await owner.page.reload();
  await owner.page.locator('#content').getByText('Ada <b>Lovelace</b>').first().waitFor();
  await owner.page.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await owner.page.getByText('No members yet.').waitFor();
  await isAskedToSignInAgain(page);
  const unexpected = [...wrongs, ...owner.wrongs].filter(
    (wrong) => !wrong.includes(provider.issuer) && !wrong.includes('status of 401'),
  );
  expect(unexpected).toEqual([]);
  await Promise.all([context.close(), owner.context.close()]);
});

test('a browser that prefers Chinese gets it, and the menu switches to English', async () => {
  const { page, context, open, wrongs, customer } = await console.visit({ locale: 'zh-CN' });
  const body = { name: 'renewing', limit: 1, limit_reset: 'daily' };
  await console.server.call('POST', '/api/v1/keys', { token: customer.secret, body });
  await open('keys');
  expect(await page.getAttribute('html', 'lang')).toBe('zh-Hans');
  await page.getByLabel('API 密钥').fill(customer.secret);
  await page.getByRole('button', { name: '登录' }).click();
  await page.getByText('每天').waitFor();
  await page.locator('.account-menu summary').click();
  await page.getByLabel('语言').selectOption('en');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  await page.getByText('per day').waitFor();
  expect(await page.getAttribute('html', 'lang')).toBe('en');
  expect(wrongs).toEqual([]);
  await context.close();
});

/** The next read is refused. The click is dispatched because the dialog may already cover the link. */
async function isAskedToSignInAgain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Billing' }).first().dispatchEvent('click');
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
}

/** Enough for many journeys in a row, also on a busy machine. */
const LONG_MS = 120_000;

test(
  'a key, a chat, its charge, a canceled video and a payment work by keyboard alone',
  () => byKeyboard(console),
  LONG_MS,
);

describe('while the last worker of a pool is dead', () => {
  let killed: KilledWorker;
  // awaited: an order of another test would be an alarm before this one
  beforeAll(async () => {
    killed = await killLastWorker(console);
    killed.alarmMs.catch(() => undefined);
  }, LONG_MS);

  test(
    'forty hostile texts are plain text on every page that shows what people write',
    () => areText(console),
    LONG_MS,
  );

  test('a refused call says how much is missing, and one that came too soon says when to retry', () =>
    refusals(console));

  test(
    'the path from the login to the first streamed answer takes one paste and few clicks',
    () => firstAnswer(console),
    LONG_MS,
  );

  test('a link, a reload and Back restore what was chosen', () => byAddress(console), LONG_MS);

  test(
    'no page is blank behind a path prefix or in an old tab after an upgrade',
    () => elsewhere(console),
    LONG_MS,
  );

  test("its death raises an alarm on the operators' page within 25 seconds", async () => {
    expect(await killed.alarmMs).toBeLessThan(ALARM_MS_MAX);
  });
});
