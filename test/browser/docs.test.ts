import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
// @ts-expect-error: a plain Node script without types
import { buildViewer } from '../../ops/build-viewer.mjs';
import { startTestServer, type TestServer } from '../api/support/test-server.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { picture, startBrowser } from './browser.ts';

/** The reference at /docs in a real browser: it can be searched, read and tried out without anything from other hosts. */

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** The viewer reads 1.6 MB of description and lays out every operation. */
const SHOWN_WITHIN_MS = 60_000;

let folder: string;
let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  folder = temporaryFolder('viewer');
  buildViewer(fileURLToPath(new URL('../..', import.meta.url)), join(folder, 'docs'));
  [server, browser] = await Promise.all([
    startTestServer({ viewerFolder: join(folder, 'docs') }),
    startBrowser(),
  ]);
}, CHROMIUM_TIMEOUT_MS);
declare const document: { readonly documentElement: { readonly scrollWidth: number } };

afterAll(async () => {
  await browser?.close();
  await server?.close();
});

interface Visit {
  readonly page: Page;
  /** Policy violations, errors and requests to other hosts. */
  readonly wrongs: string[];
}

/** Opens the page in a browser profile of its own that can reach only this service. */
async function open(options: BrowserContextOptions = {}, place = ''): Promise<Visit> {
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  const wrongs: string[] = [];
  page.on('console', (message) => message.type() === 'error' && wrongs.push(message.text()));
  page.on('pageerror', (error) => wrongs.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !/^(data|blob):/.test(request.url())) {
      wrongs.push(`request to another host: ${request.url()}`);
    }
  });
  await page.goto(`${server.url}/docs${place}`);
  return { page, wrongs };
}

/** Finds the operation that returns the credits through the search. */
async function findCredits(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  const search = page.getByRole('dialog', { name: 'Reference Search' });
  await search.getByRole('combobox').fill('credits of the account');
  await search.getByRole('option', { name: /Path: \/api\/v1\/credits$/ }).click();
  await page.waitForURL(/#.*\/api\/v1\/credits$/);
}

const title = (page: Page) => page.getByRole('heading', { name: 'Tollgate', exact: true });

test('can be searched, shows samples and makes calls with a key', async () => {
  const { id } = await createAccount(server.database, { credits: '12.5' });
  const { secret } = await createKey(server.database, id);
  const { page, wrongs } = await open();
  await title(page).waitFor();
  await picture(page, 'docs');
  await findCredits(page);
  const operation = page.getByRole('region', { name: 'Get the credits of the account' });
  await operation.getByText(/Authorization: Bearer \$TOLLGATE_KEY/).waitFor();
  await operation.getByRole('button', { name: 'Test Request' }).click();
  const client = page.getByRole('dialog', { name: 'API Client' });
  await client.getByRole('textbox', { name: 'Bearer Token' }).fill(secret);
  const answered = page.waitForResponse(`${server.url}/api/v1/credits`);
  await client.getByRole('button', { name: `Send get request to ${server.url}/api/v1/credits` }).click();
  const answer = await answered;
  expect([answer.status(), (await answer.json()).data.remaining_credits]).toEqual([200, '12.50']);
  await client.getByText('remaining_credits').first().waitFor();
  await picture(page, 'docs-call');
  expect(wrongs).toEqual([]);
}, 180_000);

test('fits a phone', async () => {
  const { page, wrongs } = await open({ viewport: PHONE }, '#tag/usage/GET/api/v1/credits');
  const operation = page.getByRole('region', { name: 'Get the credits of the account' });
  await operation.getByRole('button', { name: 'Test Request' }).click();
  await page.getByRole('dialog', { name: 'API Client' }).getByLabel('Bearer Token').waitFor();
  // its own border of one pixel is outside the page
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
    PHONE.width + 1,
  );
  await picture(page, 'docs-phone');
  expect(wrongs).toEqual([]);
}, 180_000);

test('redirects a browser without scripts to the plain page', async () => {
  const { page, wrongs } = await open({ javaScriptEnabled: false });
  await page.waitForURL(/\/docs\/plain$/);
  await page
    .getByRole('heading', { name: /\/api\/v1\/credits$/ })
    .first()
    .waitFor();
  expect(wrongs).toEqual([]);
});

test('the page allows no style but its own, and the policy of other pages is not relaxed', async () => {
  const policyOf = async (path: string) =>
    (await server.call('GET', path)).headers.get('content-security-policy') ?? '';
  const policy = await policyOf('/docs');
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+'; style-src 'unsafe-inline'; /,
  );
  expect(policy).toContain("connect-src 'self'");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  for (const path of ['/docs/plain', '/healthz', '/docs/viewer.js']) {
    expect([path, await policyOf(path)]).toEqual([
      path,
      expect.not.stringMatching(/script-src[^;]*(unsafe|sha256)/),
    ]);
  }
});
