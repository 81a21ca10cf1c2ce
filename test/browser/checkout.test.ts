import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { parsePublicId } from '../../src/lib/ids.ts';
import { startTestServer, type TestServer } from '../api/support/test-server.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { accessibilityProblems, focused } from './accessibility.ts';
import { picture, startBrowser } from './browser.ts';

/** Buys credits as a person does: on the hosted payment page of the test provider in a real browser. */

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

let server: TestServer;
let browser: Browser;
/** The shop that the buyer comes from and returns to. */
let shop: Server;
let shopUrl: string;

beforeAll(async () => {
  shop = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><html lang="en"><title>Shop</title><h1>${request.url?.split('?', 1)[0]}</h1>`,
    );
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  shopUrl = `http://localhost:${(shop.address() as AddressInfo).port}`;
  [server, browser] = await Promise.all([startTestServer(), startBrowser()]);
}, CHROMIUM_TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  await server?.close();
  shop?.closeAllConnections();
  await shop?.[Symbol.asyncDispose]();
});

interface Purchase {
  readonly session: string;
  readonly page: Page;
  credits(): Promise<string>;
  state(): Promise<string>;
}

/** Creates an account without credits that has opened a checkout for 25 dollars, and opens its page in a new browser profile. */
async function purchase(options: BrowserContextOptions = {}): Promise<Purchase> {
  const { id } = await createAccount(server.database, { credits: '0' });
  const { secret: key } = await createKey(server.database, id);
  const path = '/api/v1/billing/checkout/sessions';
  const body = {
    amount: '25.00',
    currency: 'USD',
    success_url: `${shopUrl}/paid?session={CHECKOUT_SESSION_ID}`,
    cancel_url: `${shopUrl}/cart`,
  };
  const opened = await server.call('POST', path, { key, body });
  const session: string = opened.json.data.id;
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(server.url + new URL(opened.json.data.url).pathname);
  return {
    session,
    page,
    credits: async () => (await server.call('GET', '/api/v1/credits', { key })).json.data.remaining_credits,
    state: async () => {
      const { data } = (await server.call('GET', `${path}/${session}`, { key })).json;
      return `${data.status} ${data.payment_status}`;
    },
  };
}

async function expire({ session }: Purchase): Promise<void> {
  await server.database.money.query(
    `UPDATE checkout_sessions SET expires_at = now() - interval '1 s' WHERE id = $1`,
    [parsePublicId('checkoutSession', session)],
  );
}

const heading = ({ page }: Purchase): Promise<string | null> => page.locator('h1').textContent();

describe.each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('%s', (_, javaScriptEnabled) => {
  test('a payment leads back to the shop with the credits added, and paying again from the history adds nothing', async () => {
    const buyer = await purchase({ javaScriptEnabled });
    expect(await heading(buyer)).toBe('Buy prepaid credits');
    expect(await buyer.page.locator('.amount').textContent()).toContain('$25.00');
    await buyer.page.getByRole('button', { name: 'Pay $25.00' }).click();
    await buyer.page.waitForURL(`${shopUrl}/paid?session=${buyer.session}`);
    expect([await buyer.state(), await buyer.credits()]).toEqual(['complete paid', '25.00']);
    await buyer.page.goto(`${server.url}/checkout/${buyer.session}`);
    expect(await heading(buyer)).toBe('Payment received');
    await buyer.page.getByRole('link', { name: 'Continue' }).click();
    await buyer.page.waitForURL(`${shopUrl}/paid?session=${buyer.session}`);
    expect(await buyer.credits()).toBe('25.00');
    await buyer.page.context().close();
  });

  test('a declined card says so and costs nothing, and another card pays', async () => {
    const buyer = await purchase({ javaScriptEnabled });
    await buyer.page.getByLabel('Test card ending in 0002').check();
    await buyer.page.getByRole('button').click();
    expect(await buyer.page.getByRole('alert').textContent()).toContain('declined');
    expect([await buyer.state(), await buyer.credits()]).toEqual(['open unpaid', '0.00']);
    await buyer.page.getByLabel('Test card ending in 4242').check();
    await buyer.page.getByRole('button').click();
    await buyer.page.waitForURL(`${shopUrl}/paid?session=${buyer.session}`);
    expect(await buyer.credits()).toBe('25.00');
    await buyer.page.context().close();
  });

  test('canceling leads back to the cart with nothing paid and the session still open', async () => {
    const buyer = await purchase({ javaScriptEnabled });
    await buyer.page.getByRole('link', { name: 'Cancel and go back' }).click();
    await buyer.page.waitForURL(`${shopUrl}/cart`);
    expect([await buyer.state(), await buyer.credits()]).toEqual(['open unpaid', '0.00']);
    await buyer.page.context().close();
  });

  test('paying on a page that has expired while open says so, costs nothing and leads back', async () => {
    const buyer = await purchase({ javaScriptEnabled });
    await expire(buyer);
    await buyer.page.getByRole('button').click();
    await buyer.page.getByRole('heading', { name: 'This checkout has expired' }).waitFor();
    expect([await buyer.state(), await buyer.credits()]).toEqual(['expired unpaid', '0.00']);
    await buyer.page.getByRole('link', { name: 'Go back' }).click();
    await buyer.page.waitForURL(`${shopUrl}/cart`);
    await buyer.page.context().close();
  });
});

test('everything can be reached by keyboard in reading order, and the focused element is visibly marked', async () => {
  const buyer = await purchase();
  const seen: string[] = [];
  for (const key of ['Tab', 'ArrowDown', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab', 'ArrowUp']) {
    await buyer.page.keyboard.press(key);
    seen.push(await focused(buyer.page));
  }
  const [accepted, declined] = ['INPUT accepted true', 'INPUT declined true'];
  const [pay, cancel] = ['BUTTON Pay $25.00 true', 'A Cancel and go back true'];
  expect(seen).toEqual([accepted, declined, pay, cancel, pay, declined, accepted]);
  await buyer.page.keyboard.press('Enter');
  await buyer.page.waitForURL(`${shopUrl}/paid?session=${buyer.session}`);
  expect(await buyer.credits()).toBe('25.00');
  await buyer.page.context().close();
});

describe.each([
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE }],
  ['small-phone', { viewport: { width: 320, height: 568 } }],
  ['dark', { viewport: PHONE, colorScheme: 'dark' as const }],
])('%s', (name, options) => {
  test('every state of the page is readable and loads nothing from elsewhere', async () => {
    const buyer = await purchase(options);
    const { page, session } = buyer;
    const requested: string[] = [];
    page.on('request', (request) => requested.push(new URL(request.url()).pathname));
    const check = async (state: string): Promise<void> => {
      await picture(page, `${name}-${state}`);
      expect([state, await accessibilityProblems(page)]).toEqual([state, []]);
    };
    await page.reload();
    await check('open');
    await page.getByLabel('0002').check();
    await page.getByRole('button').click();
    await page.getByRole('alert').waitFor();
    await check('declined');
    await page.goto(`${server.url}/checkout/cs_unknown`);
    await check('missing');
    const paid = await purchase(options);
    await paid.page.getByRole('button').click();
    await paid.page.waitForURL(/paid/);
    await page.goto(`${server.url}/checkout/${paid.session}`);
    await check('complete');
    await expire(buyer);
    await page.goto(`${server.url}/checkout/${session}`);
    await check('expired');
    expect(requested.filter((path) => !path.startsWith('/checkout/'))).toEqual([]);
    await Promise.all([page.context().close(), paid.page.context().close()]);
  });
});
