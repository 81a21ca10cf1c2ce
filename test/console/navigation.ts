import type { Page } from 'playwright-core';
import { eventually } from '../factories/eventually.ts';
import { type Customer, orderImage, orderVideo } from '../operators/support/customer.ts';
import { behindPrefix } from './behind-prefix.ts';
import type { ConsoleServer, Visit } from './console-server.ts';

/**
 * The first answer, the main journeys without a mouse, pages that follow their address, a path prefix, and an old tab after an upgrade.
 */

const FOCUSED = `(() => {
  const at = document.activeElement === document.body ? null : document.activeElement;
  const label = at?.getAttribute('aria-label') ?? at?.labels?.[0]?.textContent ?? at?.textContent ?? '';
  return label.trim();
})()`;
const STOPS_MAX = 60;

/** Presses Tab until the focused element has this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  while (passed.length < STOPS_MAX) {
    const focused = String(await page.evaluate(FOCUSED));
    if (focused.startsWith(name)) {
      return;
    }
    passed.push(focused.slice(0, 40));
    await page.keyboard.press('Tab');
  }
  throw new Error(`no tab stop is called "${name}": ${passed.join(' | ')}`);
}

async function press(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

async function fill(page: Page, name: string, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.insertText(text);
}

/** Opens the page with this heading through the command palette. */
async function goTo(page: Page, text: string, heading: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'A page, an action or an ID' }).waitFor();
  await page.keyboard.insertText(text);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
}

/** Counts clicks and pastes on a page. */
const COUNTED = `globalThis.counted = { clicks: 0, pastes: 0 };
  addEventListener('pointerdown', ({ isTrusted }) => { counted.clicks += isTrusted ? 1 : 0; }, true);
  addEventListener('paste', ({ isTrusted }) => { counted.pastes += isTrusted ? 1 : 0; }, true);`;
const CLICKS_MAX = 6;

/** A person who has nothing but a key asks something and reads an answer. */
export async function firstAnswer(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.visit();
  await page.addInitScript(COUNTED);
  await open('');
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(customer.secret)})`);
  await page.getByLabel('API key').click();
  await page.keyboard.press('Control+v');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Make your first call' }).click();
  await page.getByLabel('Message').click();
  await page.keyboard.type('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.turn-text').nth(1).filter({ hasText: /\S/ }).waitFor();
  const { clicks, pastes } = (await page.evaluate('counted')) as { clicks: number; pastes: number };
  expect(clicks).toBeGreaterThan(3);
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  expect(pastes).toBe(1);
  expect(wrongs).toEqual([]);
  await context.close();
}

/** Signing in, a key, a chat, its charge, a canceled video, a payment, signing out. */
export async function byKeyboard(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.visit();
  await open('');
  await fill(page, 'API key', customer.secret);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await goTo(page, 'keys', 'Keys');
  await press(page, 'Create key');
  await fill(page, 'Name', 'by keyboard');
  await page.keyboard.press('Enter');
  await page.locator('.secret').waitFor();
  await press(page, 'I have saved it', 'Space');
  await press(page, 'Done');
  await page.getByRole('button', { name: 'by keyboard' }).waitFor();

  await goTo(page, 'new chat', 'Playground');
  await fill(page, 'Message', 'hello');
  await page.getByText('tokens in').waitFor();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('link', { name: 'Details' }).waitFor();
  await press(page, 'Details');
  const id = await page.getByRole('dialog').getByText(/^gen-/).first().textContent();
  await page.keyboard.press('Escape');
  await goTo(page, id ?? '', 'Generations');
  await page.getByRole('dialog').getByText('Tokens').first().waitFor();
  await page.keyboard.press('Escape');

  // two others keep the engine busy: the canceled task must not finish first
  const others = await Promise.all([1, 2].map(() => orderVideo(console.server, customer)));
  await open('playground?kind=video&steps=30');
  await fill(page, 'Prompt', 'a toll gate at noon');
  await press(page, 'Run');
  await page.getByRole('link', { name: 'Ordered. Show the task' }).waitFor();
  await press(page, 'Ordered. Show the task');
  await page.getByRole('button', { name: 'Cancel: stops the task, you pay nothing' }).waitFor();
  await press(page, 'Cancel');
  await page.getByRole('dialog').getByText('You paid nothing.').waitFor({ timeout: 30_000 });
  await page.keyboard.press('Escape');
  const { data } = (await console.server.call('GET', '/api/v1/tasks', { token: customer.secret })).json;
  expect(data[0]).toMatchObject({ kind: 'video', status: 'canceled', charged_amount: '0.00' });
  for (const id of others) {
    await console.server.call('POST', `/api/v1/tasks/${id}/cancel`, { token: customer.secret });
  }

  await goTo(page, 'billing', 'Billing');
  await press(page, 'Pay $25.00');
  await page.getByRole('heading', { name: 'Buy prepaid credits' }).waitFor();
  await press(page, 'Pay $25.00');
  await page.getByText('have been added to the balance').waitFor();

  await tabTo(page, 'Skip to content');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog').getByRole('combobox');
  await palette.fill('new im');
  expect(await page.getByRole('dialog').getByRole('option').allTextContents()).toEqual(['New image']);
  await palette.fill('nothing of ours');
  await page.getByText('No matches.').waitFor();
  await page.keyboard.press('Escape');
  await eventually(async () => (await page.evaluate(FOCUSED)) === 'Skip to content');
  await page.keyboard.press('Control+k');
  await palette.waitFor();
  await page.keyboard.press('ArrowUp');
  expect(await page.getByRole('dialog').getByRole('option', { selected: true }).textContent()).toBe(
    'Sign out',
  );
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(wrongs).toEqual([]);
  await context.close();
}

/** Makes calls of an account to look at. */
async function work({ server }: ConsoleServer, customer: Customer): Promise<{ call: string; task: string }> {
  const body = {
    model: 'acme/small',
    messages: [{ role: 'user', content: 'Hello' }],
    max_completion_tokens: 5,
  };
  const answer = await server.call('POST', '/api/v1/chat/completions', { token: customer.secret, body });
  const task = await orderImage(server, customer);
  return { call: answer.headers.get('x-generation-id') ?? '', task };
}

/** Addresses with every option that the pages accept. */
function customerViews({ hash }: Customer, { call, task }: { call: string; task: string }): string[] {
  return [
    '?range=7d',
    'playground?kind=video',
    'tasks?kind=image&status=succeeded&model=image-turbo&range=7d&view=table',
    `tasks?task=${task}`,
    'generations?status=failed&model=acme%2Fsmall&endpoint=%2Fvendorx%2Fv1%2Fmessages',
    `generations?generation=${call}&range=2026-11-01T10:00Z,2026-11-01T11:00Z`,
    `usage?range=7d&group=endpoint&key=${hash}`,
    'usage?tab=tokens&range=90d',
    'usage?tab=requests&range=2026-11-01T10:00Z,2026-11-01T10:30Z',
    `keys?key=${hash}`,
    'billing?tab=statements',
    'billing?type=refund',
  ];
}

function operatorViews({ account }: Customer, { call, task }: { call: string; task: string }): string[] {
  return [
    'operator/accounts?q=acme&suspended=true&sort=usage_30d',
    `operator/accounts/${account}?tab=keys`,
    'operator/money?range=7d&by=provider',
    'operator/money?tab=prices',
    'operator/tasks?state=failed',
    `operator/tasks?task=${task}`,
    'operator/deliveries?state=failed',
    'operator/audit?action=account.update&actor=alice&since=2026-01-01',
    `operator/search?q=${call}&charge=${call}`,
  ];
}

/** Returns the selected tab, the values of the controls and the open details; null while the page loads some of them. */
const CHOSEN = `document.querySelector('#content .skeleton, dialog[open] .skeleton') ? null : JSON.stringify([
  document.querySelector('.tabs [aria-current]')?.textContent,
  ...[...document.querySelectorAll('#content select, #content input')].map((control) => control.value),
  ...new Set([...document.querySelectorAll('dialog[open] .id .mono')].map((id) => id.textContent))])`;

/** The address of a page contains what is chosen: a link, a reload and Back restore it. */
export async function byAddress(console: ConsoleServer): Promise<void> {
  const [customer, operator] = [await console.signIn(), await console.signInOperator()];
  const views = [
    [customer, customerViews(customer.customer, await work(console, customer.customer))],
    [operator, operatorViews(operator.customer, await work(console, operator.customer))],
  ] as const;
  for (const [visit, addresses] of views) {
    for (const address of addresses) {
      await standsInAddress(visit, address);
    }
    expect(visit.wrongs).toEqual([]);
    await visit.context.close();
  }
}

async function standsInAddress({ page, open }: Visit, address: string): Promise<void> {
  await open(address);
  const query = new URLSearchParams(address.split('?')[1]);
  const wanted = [...query].map(([name, value]) => (name === 'q' ? '' : value.toLowerCase()));
  const read = () => page.evaluate<string | null>(CHOSEN);
  const isThere = async () => {
    const chosen = (await read())?.toLowerCase();
    return chosen !== undefined && wanted.every((value) => chosen.includes(value));
  };
  await eventually(isThere, 30_000, `what ${address} asks for`);
  const chosen = await read();
  const isAgain = async () => (await read()) === chosen;
  await page.reload();
  await eventually(isAgain, 30_000, `what ${address} had chosen, after a reload`);
  if ((await page.locator('dialog[open]').count()) > 0) {
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
  } else {
    await page.locator('.side a').nth(1).click();
    await page.waitForURL((url) => url.search === '');
  }
  await page.goBack();
  await eventually(isAgain, 30_000, `what ${address} had chosen, by Back`);
}

/** Opens the console behind a path prefix, and uses an old tab after an upgrade. */
export async function elsewhere(console: ConsoleServer): Promise<void> {
  const proxy = await behindPrefix('/tollgate', console.server.url, console.folder);
  const { page, context, customer, wrongs } = await console.visit();
  await page.goto(`${proxy.url}/tollgate/console/usage?tab=tokens`);
  await page.getByLabel('API key').fill(customer.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Usage & Costs' }).waitFor();
  await page.getByRole('link', { name: 'Keys' }).first().click();
  await page.getByRole('button', { name: 'Create key' }).waitFor();
  expect(page.url()).toBe(`${proxy.url}/tollgate/console/keys`);
  await page.reload();
  await page.getByRole('button', { name: 'Create key' }).waitFor();
  expect(
    wrongs.filter((wrong) => !wrong.startsWith(`request to another host: ${proxy.url}/tollgate/`)),
  ).toEqual([]);

  proxy.upgrade();
  await page.getByRole('link', { name: 'Billing' }).first().click();
  await page.getByRole('heading', { name: 'Billing' }).waitFor();
  expect(proxy.isNew()).toBe(true);
  await context.close();
  await proxy.close();
}
