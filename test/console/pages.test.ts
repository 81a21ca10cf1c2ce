import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { picture } from '../browser/browser.ts';
import { eventually } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { createMember } from '../factories/member.ts';
import { type Customer, orderImage, orderVideo } from '../operators/support/customer.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { type ConsoleServer, startConsole, type Visit } from './console-server.ts';

/** Every page of the console in both themes and three widths: axe finds nothing, nothing is wider than the window, no messages. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [360, 768, 1280];
/** The size that a page sees of a window of 1280 × 800 at 200 % zoom. */
const ZOOMED = { width: 640, height: 400 };
const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const PAGES = [
  '',
  'playground',
  'playground?kind=image',
  'tasks',
  'generations',
  'usage',
  'usage?tab=tokens',
  'usage?tab=speed',
  'models',
  'keys',
  'billing',
  'billing?tab=statements',
  'members',
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
  'operator/sessions',
  'operator/search?q=account',
];

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(3);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

/** Returns the findings of axe, as rule and place. */
async function axe(page: Page): Promise<string[]> {
  const isLoaded = await page.evaluate('typeof axe === "object"');
  if (!isLoaded) {
    await page.evaluate(AXE);
  }
  // nothing needs loading: the style sheets are the page's own, and there are no frames
  return (await page.evaluate(`axe.run(document, { resultTypes: ['violations'], preload: false, iframes: false }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ' ' + failureSummary)))`)) as string[];
}

const isTooWide = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

/** Checks a page in all widths, as when someone turns a phone or resizes a window. */
async function lookAt({ page, open, wrongs }: Visit, path: string, theme: Theme): Promise<void> {
  await open(path);
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  expect(await page.locator('h1').count()).toBe(1);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    expect([width, await isTooWide(page)]).toEqual([width, false]);
    expect([width, ...(await axe(page))]).toEqual([width]);
    await picture(page, `console-${path.replace(/\W+/g, '-') || 'overview'}-${theme}-${width}`);
  }
  await page.setViewportSize(ZOOMED);
  expect(['200 %', await isTooWide(page)]).toEqual(['200 %', false]);
  expect(wrongs).toEqual([]);
}

/** A browser profile for each theme. */
type Visits = Readonly<Record<Theme, Visit>>;

/** Checks both themes at the same time: each has a browser process of its own. */
const inBoth = (look: (theme: Theme) => Promise<void>) => Promise.all(THEMES.map(look));

/** Creates what the pages of an account show: calls, an image, a video, a canceled task, a key with a limit. */
async function fill(customer: Customer): Promise<void> {
  const { server } = console;
  const call = async (path: string, body: object, token = customer.secret) => {
    const answer = await server.call('POST', path, { token, body });
    expect([path, answer.status, answer.text.slice(0, 200)]).toEqual([path, 200, expect.any(String)]);
    return answer.json;
  };
  const messages = [{ role: 'user', content: 'Say something that takes a while to read.' }];
  const chat = (token?: string) =>
    call('/api/v1/chat/completions', { model: 'acme/small', messages, max_completion_tokens: 60 }, token);
  const video = await orderVideo(server, customer);
  await orderImage(server, customer);
  await server.call('POST', `/api/v1/tasks/${video}/cancel`, { token: customer.secret });
  const name = 'a key with a name as long as names of keys are when a program writes them: staging-eu-west-1';
  const path = '/api/v1/keys';
  const made = await server.call('POST', path, { token: customer.secret, body: { name, limit: 0.0003 } });
  await chat(made.json.key);
  await createGeneration(server.db.database, {
    ...{ accountId: customer.accountId, apiKeyId: customer.keyId, charge: '0.001234567' },
    model: 'somebody/a-model-with-a-name-as-long-as-some-are-instruct-2026-11',
  });
  await createMember(server.db.database, customer.accountId, 'developer');
  const invited = { email: 'somebody-with-a-long-name.of-a-department@example.com', role: 'viewer' };
  await server.call('POST', '/api/v1/invitations', { token: customer.secret, body: invited });
  await Promise.all([chat(), chat()]);
  await eventually(
    async () => {
      const { json } = await server.call('GET', '/api/v1/tasks', { token: customer.secret });
      return json.data.every(({ completed_at: at }: { completed_at: string | null }) => at !== null);
    },
    30_000,
    'the end of all tasks',
  );
}

describe('customers', () => {
  let visits: Visits;
  beforeAll(async () => {
    const light = await console.signIn({ colorScheme: 'light' });
    await fill(light.customer);
    visits = { light, dark: await console.signIn({ colorScheme: 'dark' }, light.customer) };
  });

  test.each(PAGES)('/console/%s', (path) => inBoth((theme) => lookAt(visits[theme], path, theme)));

  test('the palette that Ctrl K opens, and a dialog', () =>
    inBoth(async (theme) => {
      const { page, open, wrongs } = visits[theme];
      await open('');
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('option').first().waitFor();
      expect(await axe(page)).toEqual([]);
      await picture(page, `console-palette-${theme}`);
      await page.keyboard.press('Escape');
      await open('keys');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('dialog').getByLabel('Name').waitFor();
      expect(await axe(page)).toEqual([]);
      expect(wrongs).toEqual([]);
    }));

  test('the login', () =>
    inBoth(async (colorScheme) => {
      const { page, open, wrongs } = await console.visit({ colorScheme });
      await open('keys');
      expect(await axe(page)).toEqual([]);
      expect(wrongs).toEqual([]);
    }));
});

describe('operators', () => {
  let visits: Visits;
  beforeAll(async () => {
    const [light, dark] = await Promise.all(
      THEMES.map((colorScheme) => console.signInOperator({ colorScheme })),
    );
    visits = { light: light!, dark: dark! };
  });

  test.each(OPERATOR_PAGES)('/console/%s', (path) => inBoth((theme) => lookAt(visits[theme], path, theme)));

  test('the page of an account, as operators see it', () =>
    inBoth(async (theme) => {
      const { account } = visits[theme].customer;
      await lookAt(visits[theme], `operator/accounts/${account}?tab=transactions`, theme);
      await lookAt(visits[theme], `operator/accounts/${account}?tab=costs`, theme);
    }));
});

/** The size of what a browser has to load, in bytes after gzip, and what no file may contain. */
describe('the files', () => {
  const KB = 1_000;
  let files: Map<string, Buffer>;
  beforeAll(() => {
    const folder = join(console.folder, 'assets');
    const names = readdirSync(folder).filter((name) => !/\.(br|gz)$/.test(name));
    files = new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
  });

  const page = () => readFileSync(join(console.folder, 'index.html'), 'utf8');
  const weight = (names: readonly string[]) =>
    names.reduce(
      (sum, name) =>
        sum +
        (/woff2$/.test(name) ? files.get(name)!.length : gzipSync(files.get(name)!, { level: 9 }).length),
      0,
    );
  const named = (pattern: RegExp) => [...files.keys()].filter((name) => pattern.test(name));
  const first = () => [...page().matchAll(/assets\/([\w-]+\.js)/g)].map(([, name = '']) => name);

  test('the first load is small, and so are all files together', () => {
    expect(first().length).toBeGreaterThan(0);
    expect(weight(first())).toBeLessThan(70 * KB);
    expect(weight(named(/\.css$/))).toBeLessThan(14 * KB);
    expect(weight(named(/woff2$/))).toBeLessThan(64 * KB);
    for (const name of named(/\.js$/).filter((file) => !first().includes(file))) {
      expect([name, weight([name]) < 40 * KB]).toEqual([name, true]);
    }
    expect(weight([...files.keys()])).toBeLessThan(400 * KB);
  });

  test('no file refers to another host, and the page has no inline code or styles', () => {
    for (const [name, content] of files) {
      const hosts = content.toString('latin1').match(/https?:\/\/[\w.-]+/g) ?? [];
      // names of XML vocabularies are not addresses, and one library names its home page in an error message
      const foreign = hosts.filter((host) => !/^(http:\/\/www\.w3\.org|https:\/\/github\.com)$/.test(host));
      expect([name, /woff2$/.test(name) ? [] : foreign]).toEqual([name, []]);
    }
    expect(page()).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  });
});
