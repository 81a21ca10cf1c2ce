import type { Page } from 'playwright-core';
import { median } from '../../bench/soak/slope.ts';
import { eventually } from '../factories/eventually.ts';
import { type Customer, orderImage, orderVideo } from '../operators/support/customer.ts';
import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { type ConsoleServer, startConsole } from './console-server.ts';
import { firstLoad } from './first-load.ts';
import { manyCalls } from './many-calls.ts';
import { differenceIsTold, longLog, totalsAddUp } from './records.ts';
import { chosenOnChart, filtersOnPhone } from './usage-page.ts';

/** What pages ask for, how soon they show it, and that it adds up. */

const PICTURES = 60;
/** Cards that are read at once. */
const PAGE = 50;
const TABS = 10;
const MADE_TIMEOUT_MS = 90_000;

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(13);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

interface Shown {
  readonly status: string;
  readonly progress_percent: number;
}

const RUNNING = ['generating', 'generated', 'processing'];
/** Percent that the first card shows; 100 once it has its picture. */
const PERCENT = `document.querySelector('.card img') ? 100 : document.querySelector('.card progress')?.value ?? -1`;

async function tasksOf({ secret }: Customer): Promise<Shown[]> {
  const { json } = await console.server.call('GET', '/api/v1/tasks?limit=1000', { token: secret });
  return json.data;
}

async function allMade(customer: Customer): Promise<void> {
  const isMade = async () => (await tasksOf(customer)).every(({ status }) => status === 'succeeded');
  await eventually(isMade, MADE_TIMEOUT_MS, 'the pictures');
}

/** A key that may make few requests: what its session reads is not among them. */
async function limitRequests({ secret, hash }: Customer): Promise<void> {
  const body = { rate_limits: { requests_per_minute: 5 } };
  const answer = await console.server.call('PATCH', `/api/v1/keys/${hash}`, { token: secret, body });
  expect(answer.status).toBe(200);
}

test(`a gallery of ${PICTURES} pictures costs them, two requests, and nothing of the key's rate limit`, async () => {
  const { page, context, open, customer, requests, wrongs } = await console.signIn();
  await Promise.all(Array.from({ length: PICTURES }, () => orderImage(console.server, customer)));
  await allMade(customer);
  await limitRequests(customer);
  // the overview asks for tasks, too
  await page.goto('about:blank');
  requests.length = 0;
  await open('tasks');
  const pictures = page.locator('.card img');
  await eventually(async () => (await pictures.count()) === PAGE);
  await page.getByRole('button', { name: 'Load older' }).click();
  await eventually(async () => (await pictures.count()) === PICTURES);
  for (let picture = 0; picture < PICTURES; picture += 1) {
    await pictures.nth(picture).scrollIntoViewIfNeeded();
  }
  const isShown = `[...document.querySelectorAll('.card img')].filter((image) => image.naturalWidth > 0).length`;
  await eventually(async () => (await page.evaluate(isShown)) === PICTURES, 20_000, 'all pictures');
  // the list is read again every 15 s: that is of the time, not of the pictures
  const asked = new Set(requests.filter((line) => / \/(?:media|api\/v1\/tasks|v3)\b/.test(line)));
  expect(asked.size).toBeLessThanOrEqual(PICTURES + 2);
  expect((await console.server.call('GET', '/api/v1/key', { token: customer.secret })).status).toBe(200);
  expect(wrongs).toEqual([]);
  await context.close();
}, 120_000);

test(`${TABS} tabs follow one stream, and a hidden one asks nothing for five minutes`, async () => {
  const { page, context, requests, open, customer } = await console.signIn();
  const isStream = (line: string) => line.includes('/api/v1/events');
  await eventually(async () => requests.some(isStream));
  const streams: string[] = [];
  context.on('request', (request) => isStream(request.url()) && streams.push(request.url()));
  const others: Page[] = [];
  for (let tab = 1; tab < TABS; tab += 1) {
    const other = await context.newPage();
    await other.goto(`${console.server.url}/console/tasks`);
    await other.getByRole('heading', { name: 'Tasks' }).waitFor();
    others.push(other);
  }
  expect(streams).toEqual([]);
  // told through the first tab: a picture is on all pages at once
  await orderImage(console.server, customer);
  await Promise.all(others.map((other) => other.locator('.card').first().waitFor()));
  await Promise.all(others.map((other) => other.close()));
  await allMade(customer);

  await context.clock.install();
  for (const path of ['', 'tasks', 'generations', 'usage', 'billing', 'keys']) {
    await open(path);
    await page.evaluate(
      `Object.defineProperty(document, 'hidden', { get: () => true });
       Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });
       document.dispatchEvent(new Event('visibilitychange'))`,
    );
    await page.waitForLoadState('networkidle').catch(() => undefined);
    requests.length = 0;
    await context.clock.runFor(300_000);
    expect([path, requests.filter((line) => !isStream(line))]).toEqual([path, []]);
  }
  await context.close();
}, 120_000);

test.each([
  ['told', 1_500],
  ['asked for, without the stream', 4_000],
])(
  'the progress of a task, %s, is on the page within %i ms in the middle',
  async (how, withinMs) => {
    const { page, context, open, customer } = await console.signIn();
    if (how !== 'told') {
      await page.route('**/api/v1/events', (route) => route.abort());
    }
    await orderVideo(console.server, customer);
    await open('tasks');
    await page.locator('.card').first().waitFor();
    const told = new Map<number, number>();
    const missing = new Set<number>();
    const late: number[] = [];
    for (;;) {
      const [task] = await tasksOf(customer);
      if (task?.status === 'succeeded') {
        break;
      }
      if (task && RUNNING.includes(task.status) && !told.has(task.progress_percent)) {
        told.set(task.progress_percent, Date.now());
        missing.add(task.progress_percent);
      }
      const shown = Number(await page.evaluate(PERCENT));
      for (const percent of [...missing].filter((each) => each <= shown)) {
        late.push(Date.now() - (told.get(percent) ?? 0));
        missing.delete(percent);
      }
    }
    // a step that the end of the task has overtaken was at least not due yet
    for (const percent of missing) {
      late.push(Date.now() - (told.get(percent) ?? 0));
    }
    await page.locator('.card').first().getByRole('img').waitFor({ timeout: withinMs });
    expect(late.length).toBeGreaterThan(3);
    // of a machine that is busy with other tests, one step may be later
    expect(median(late)).toBeLessThan(withinMs);
    await context.close();
  },
  90_000,
);

/** For as many cases and rows as one asks for. */
const RECORDS_MS = 3_600_000;

test(
  'what a page says was spent is the sum of its rows, the file, the costs and the ledger, in four zones',
  () => totalsAddUp(console),
  RECORDS_MS,
);

test('costs that differ from the ledger say by how much', () => differenceIsTold(console), 60_000);

test(
  'a time is chosen on a chart by keyboard or a drag, and left again',
  () => chosenOnChart(console),
  60_000,
);

test('on a phone the filters are behind a button that says how many are chosen', () =>
  filtersOnPhone(console));

test('the first load is small and soon painted, on a slow phone', () => firstLoad(console), 120_000);

test(
  'many calls of the playground cost at most what was shown, and leave nothing behind',
  () => manyCalls(console),
  RECORDS_MS,
);

test(
  'a log of many calls is read in time, and stands still for who reads it',
  () => longLog(console),
  RECORDS_MS,
);
