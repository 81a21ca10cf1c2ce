import type { Page } from 'playwright-core';
import { eventually } from '../factories/eventually.ts';
import { createCustomer } from '../operators/support/customer.ts';
import type { ConsoleServer } from './console-server.ts';
import { signInMember } from './people.ts';

/** Returns the commands that the palette offers, and closes it. */
async function commandsOf(page: Page): Promise<string> {
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByText('Sign out').waitFor();
  const words = await palette.innerText();
  await page.keyboard.press('Escape');
  return words;
}

/** A viewer is offered nothing that calls a model; a developer nothing that only an owner may do. */
export async function onlyWhatIsAllowed(console: ConsoleServer): Promise<void> {
  const viewer = await signInMember(console, 'viewer', 'reader');
  expect(await commandsOf(viewer.page)).not.toContain('New chat');
  await viewer.page.getByText('Nothing was spent in this period.').waitFor();
  expect(await viewer.page.getByRole('link', { name: 'Make your first call' }).count()).toBe(0);
  await viewer.open('tasks');
  await viewer.page.getByRole('heading', { name: 'Tasks' }).waitFor();
  expect(await viewer.page.getByRole('link', { name: 'New', exact: true }).count()).toBe(0);
  await viewer.open('models');
  await viewer.page.getByText('tollgate/small').first().waitFor();
  expect(await viewer.page.getByRole('link', { name: 'Try it' }).count()).toBe(0);
  await viewer.open('start');
  await viewer.page.getByText('or ask an owner for one, and set it').waitFor();
  await viewer.context.close();

  const { page, open, context } = await signInMember(console, 'developer', 'builder');
  expect(await commandsOf(page)).toContain('New chat');
  await open('keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Role').waitFor();
  expect(await dialog.getByLabel('Role').locator('option').count()).toBe(1);
  await page.keyboard.press('Escape');
  await page.locator('tr', { hasText: 'owner' }).first().getByRole('button').first().click();
  await dialog.getByText('Usage and costs of this key').waitFor();
  expect(await dialog.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await context.close();
}

/** Taking an owner's rights asks first, also from oneself, and then the page shows what is left. */
export async function ownRoleAsks(console: ConsoleServer): Promise<void> {
  const customer = await createCustomer(console.server);
  const { page, open, context } = await signInMember(console, 'owner', 'boss', customer);
  await open('members');
  const role = page.getByLabel('Role of boss@example.com');
  await role.selectOption('viewer');
  await page.getByRole('dialog').getByText('This is you').waitFor();
  await page.getByRole('button', { name: 'Keep it' }).click();
  expect(await role.inputValue()).toBe('owner');
  await role.selectOption('developer');
  await page.getByRole('button', { name: 'Change the role' }).click();
  await role.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Members' }).waitFor();
  expect(await page.getByRole('button', { name: 'Invite a member' }).count()).toBe(0);
  await context.close();
}

/** A refused message comes back into its field, and is not sent along with the next one. */
export async function refusedMessageReturns(console: ConsoleServer): Promise<void> {
  const { page, open, leave } = await console.signIn();
  const sent: { messages: { role: string; content: string }[] }[] = [];
  await page.route('**/chat/completions', async (route) => {
    sent.push(route.request().postDataJSON());
    await (sent.length === 1 ? route.fulfill({ status: 503, body: '' }) : route.fallback());
  });
  await open('playground');
  const message = page.getByLabel('Message');
  await message.fill('Hello');
  const send = page.getByRole('button', { name: 'Send' });
  await send.click();
  await page.getByRole('alert').first().waitFor();
  expect(await message.inputValue()).toBe('Hello');
  await message.fill('Hello again');
  await Promise.all([page.waitForResponse('**/chat/completions'), send.click()]);
  expect(sent[1]?.messages).toEqual([{ role: 'user', content: 'Hello again' }]);
  await leave();
}

/** The provider of a stopped answer bills on: the page says so, and shows the charge when it is known. */
export async function stoppedIsCharged(console: ConsoleServer): Promise<void> {
  const { page, open, leave } = await console.signIn();
  await page.addInitScript(() => {
    const ask = globalThis.fetch;
    const half = (stop: AbortSignal) =>
      new ReadableStream({
        start: (stream) => {
          stream.enqueue(new TextEncoder().encode('data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'));
          stop.addEventListener('abort', () => stream.error(stop.reason));
        },
      });
    globalThis.fetch = async (path, sending) =>
      String(path).endsWith('/chat/completions') && sending?.signal
        ? new Response(half(sending.signal), { headers: { 'x-generation-id': 'gen-1' } })
        : await ask(path, sending);
    // the page's own patience passes at once
    const wait = globalThis.setTimeout;
    globalThis.setTimeout = ((act: () => void, ms = 0) => wait(act, ms / 20)) as typeof setTimeout;
  });
  let reads = 0;
  await page.route('**/api/v1/generation?id=gen-1', async (route) => {
    reads += 1;
    const usage = { output_tokens: 77 };
    const ended = { status: 'cancelled', charged_amount: '0.0042', first_token_ms: null, usage };
    await route.fulfill({
      json: { data: { id: 'gen-1', ...(reads > 11 ? ended : { status: 'in_progress' }) } },
    });
  });
  await open('playground');
  await page.getByLabel('Message').fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Half').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped. The charge is known once the provider has ended the call:').waitFor();
  await page.getByText(/^Stopped\. charged/).waitFor();
  await leave();
}

/** A conversation and what is typed stay while another page is shown, and go when someone signs out. */
export async function conversationStays(console: ConsoleServer): Promise<void> {
  const { page, open, leave, customer } = await console.signIn();
  const message = page.getByLabel('Message');
  await open('playground');
  await message.fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  const details = page.locator('.turn').getByRole('link', { name: 'Details' });
  await details.waitFor();
  await message.fill('And then');
  await details.click();
  await page.getByRole('dialog').getByText('/api/v1/chat/completions').waitFor();
  await page.goBack();
  await details.waitFor();
  expect(await page.locator('.turn').count()).toBe(2);
  expect(await message.inputValue()).toBe('And then');
  const prompt = page.getByLabel('Prompt');
  for (const kind of ['Image', 'Video']) {
    await page.getByRole('link', { name: kind, exact: true }).click();
    await prompt.fill(`a ${kind} of a canary`);
  }
  await page.getByRole('link', { name: 'Image', exact: true }).click();
  await eventually(async () => (await prompt.inputValue()) === 'a Image of a canary');
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.locator('.account-menu summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').fill(customer.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await message.waitFor();
  expect([await page.locator('.turn').count(), await message.inputValue()]).toEqual([0, '']);
  await leave();
}
