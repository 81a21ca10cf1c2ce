import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { accountSettings } from './account-settings.ts';
import { type ConsoleServer, startConsole } from './console-server.ts';
import { hints } from './hints.ts';
import { longAmounts, longNames } from './long-texts.ts';
import { ordersAsOffered } from './media-orders.ts';
import { pricesOfModels } from './model-prices.ts';
import { limitIsNamed, operatorsReason } from './money-reasons.ts';
import { attentionIsTrue, longEstimate, workingFirst } from './overview-page.ts';

/** What a page says of one thing: that it is true, complete and readable, for values and names that are longer or rarer than most. */

const LONG_MS = 120_000;

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(3);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

test(
  'image and video models of any catalog are ordered by what they offer, at the price shown',
  () => ordersAsOffered(console),
  LONG_MS,
);

test('the page of models names all their prices, finds one, and leads to trying it', () =>
  pricesOfModels(console));

test('a long amount stays within its figure in all widths', () => longAmounts(console), LONG_MS);

test('a name of 200 characters widens no page and hides no button', () => longNames(console), LONG_MS);

test(
  'running tasks come before those that wait, and the rest is counted',
  () => workingFirst(console),
  LONG_MS,
);

test('an account of a day does not spread its spending over a week', () => longEstimate(console));

test('nothing needs attention only if all of it was read', () => attentionIsTrue(console));

test('an operator who debits too much reads that nothing was booked', () => operatorsReason(console));

test('a key whose limit is too low for a call names its limit, not the credits', () => limitIsNamed(console));

test('the account page confirms a save, shows small amounts as typed, and the signing secret', () =>
  accountSettings(console));

test('hints come before anything fails, and are true', () => hints(console));

test('an installation where only keys sign in has no page of members, whatever address a bookmark has', async () => {
  const { page, open, leave } = await console.signIn();
  await page.route('**/console/members', async (route) => {
    const response = await route.fetch();
    const html = (await response.text()).replace(/<meta name="tollgate-sign-in"[^>]*>/, '');
    await route.fulfill({ response, body: html });
  });
  await open('members');
  expect(await page.locator('#content h1').innerText()).toBe('There is no such page');
  await leave();
});
