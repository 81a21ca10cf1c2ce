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

describe.each(THEMES)('%s', (theme) => {
  let visit: Visit;
  beforeAll(async () => {
    visit = await console.signIn({ colorScheme: theme as 'light' | 'dark' });
  });
  afterAll(() => visit?.context.close());

  test.each(PAGES)('/console/%s', async (path) => {
    const { page, open, wrongs } = visit;
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await open(path);
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      expect(await page.locator('h1').count()).toBe(1);
      expect([width, await isTooWide(page)]).toEqual([width, false]);
      expect([width, ...(await axe(page))]).toEqual([width]);
      await picture(page, `console-${path.replace(/\W+/g, '-') || 'overview'}-${theme}-${width}`);
    }
    expect(wrongs).toEqual([]);
  });

  test('the login', async () => {
    const { page, open, wrongs, context } = await console.visit({ colorScheme: theme as 'light' | 'dark' });
    await open('keys');
    expect(await axe(page)).toEqual([]);
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
