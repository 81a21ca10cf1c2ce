import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { picture } from '../browser/browser.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { type ConsoleServer, startConsole, type Visit } from './console-server.ts';

/** Every page of the console in both themes and three widths: nothing for axe to say, nothing wider than the window, no message. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [360, 768, 1280];
const THEMES = ['light', 'dark'];
const PAGES = [
  '',
  'playground',
  'playground?kind=image',
  'tasks',
  'generations',
  'usage',
  'usage?tab=tokens',
  'keys',
  'billing',
  'billing?tab=statements',
  'start',
  'account',
  'no/such/page',
];
const OPERATOR_PAGES = [
  'operator',
  'operator/accounts',
  'operator/money',
  'operator/money?tab=prices',
  'operator/fleet',
  'operator/tasks',
  'operator/deliveries',
  'operator/audit',
  'operator/search?q=account',
];

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(3);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

/** What axe finds, as rule and place. */
async function axe(page: Page): Promise<string[]> {
  const isLoaded = await page.evaluate('typeof axe === "object"');
  if (!isLoaded) {
    await page.evaluate(AXE);
  }
  return (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ' ' + failureSummary)))`)) as string[];
}

const isTooWide = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

/** Looks at a page in all widths, as somebody does who turns a phone or pulls at a window. */
async function lookAt({ page, open, wrongs }: Visit, path: string, theme: string): Promise<void> {
  await open(path);
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  expect(await page.locator('h1').count()).toBe(1);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    expect([width, await isTooWide(page)]).toEqual([width, false]);
    expect([width, ...(await axe(page))]).toEqual([width]);
    await picture(page, `console-${path.replace(/\W+/g, '-') || 'overview'}-${theme}-${width}`);
  }
  expect(wrongs).toEqual([]);
}

describe.each(THEMES)('%s', (theme) => {
  const colorScheme = theme as 'light' | 'dark';
  let visit: Visit;
  let operator: Visit;
  beforeAll(async () => {
    visit = await console.signIn({ colorScheme });
    operator = await console.signInOperator({ colorScheme });
  });
  afterAll(async () => {
    await visit?.context.close();
    await operator?.context.close();
  });

  test.each(PAGES)('/console/%s', (path) => lookAt(visit, path, theme));

  test.each(OPERATOR_PAGES)('/console/%s', (path) => lookAt(operator, path, theme));

  test('an account, as operators see it', () =>
    lookAt(operator, `operator/accounts/${visit.customer.account}?tab=transactions`, theme));

  test('the login', async () => {
    const { page, open, wrongs, context } = await console.visit({ colorScheme });
    await open('keys');
    expect(await axe(page)).toEqual([]);
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
