import type { CDPSession, Page } from 'playwright-core';
import { nanoUsd, parseUsd } from '../../src/lib/money.ts';
import type { ConsoleServer } from './console-server.ts';

/** Makes many calls from one playground page. Each costs at most what was shown, and the page keeps nothing of finished calls. */

const CALLS = Number(process.env.TEST_PLAYGROUND_CALLS ?? 8);
/** Calls during which the browser fills its caches. */
const WARM_UP = Math.min(20, Math.ceil(CALLS / 3));
/** Approximate difference between two measurements of an idle page. */
const NODES_SLACK = 60;
const HEAP_SLACK_BYTES = 1_500_000;

interface Kept {
  readonly nodes: number;
  readonly listeners: number;
  readonly heapBytes: number;
}

/** Measures what the page retains after garbage collection. */
async function keptBy(devtools: CDPSession): Promise<Kept> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  return { nodes: of('Nodes'), listeners: of('JSEventListeners'), heapBytes: of('JSHeapUsedSize') };
}

/** Sets the text without typing: the browser's undo history keeps typed text, two nodes for each text. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').evaluate((box, value) => {
    (box as unknown as { value: string }).value = value;
    box.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);
}

export async function manyCalls(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Performance.enable');
  await open('playground');
  const shown: bigint[] = [];
  let before: Kept | undefined;
  for (let call = 1; call <= CALLS; call += 1) {
    await write(page, `Question ${call}`);
    await page.getByText('tokens in').waitFor();
    const most = await page.locator('.form-row .amount[title]').first().getAttribute('title');
    shown.push(parseUsd(most?.split(' ')[0] ?? '') ?? nanoUsd(0));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('link', { name: 'Details' }).waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    if (call === WARM_UP) {
      before = await keptBy(devtools);
    }
  }
  const after = await keptBy(devtools);
  process.env.TEST_PLAYGROUND_CALLS &&
    process.stderr.write(
      `after ${WARM_UP} calls ${JSON.stringify(before)}, after ${CALLS} ${JSON.stringify(after)}\n`,
    );
  expect(after.nodes - (before?.nodes ?? 0)).toBeLessThan(NODES_SLACK);
  expect(after.listeners - (before?.listeners ?? 0)).toBeLessThan(NODES_SLACK);
  expect(after.heapBytes - (before?.heapBytes ?? 0)).toBeLessThan(HEAP_SLACK_BYTES);

  const { rows } = await console.server.db.database.money.query(
    'SELECT charge, hold_amount FROM generations WHERE account_id = $1 ORDER BY id',
    [customer.accountId],
  );
  expect(rows.map(({ hold_amount: held }) => BigInt(held))).toEqual(shown);
  expect(rows.filter(({ charge }, call) => BigInt(charge) > (shown[call] ?? 0n))).toEqual([]);
  expect(wrongs).toEqual([]);
  await context.close();
}
