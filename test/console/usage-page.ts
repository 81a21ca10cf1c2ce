import type { Page } from 'playwright-core';
import { orderImage } from '../operators/support/customer.ts';
import type { ConsoleServer } from './console-server.ts';

/** Chooses a time range on a chart, by keyboard and by dragging, and returns. */

/** Pixels of a chart before its first bar. */
const LEFT = 64;

const bars = async (page: Page) => Number(await page.getByRole('slider').getAttribute('aria-valuemax')) + 1;
const told = (page: Page, text: string) =>
  page.locator(`[role="slider"][aria-valuetext*="${text}"]`).waitFor({ state: 'attached' });
const twoCalls = (page: Page) => page.getByRole('row', { name: /^acme\/small 2 / }).waitFor();

async function untilBars(page: Page, count: number): Promise<void> {
  await page.locator(`[role="slider"][aria-valuemax="${count - 1}"]`).waitFor();
}

/** Drags from the middle of one bar to the middle of another. */
async function drag(page: Page, from: number, until: number): Promise<void> {
  const slider = page.getByRole('slider');
  await slider.scrollIntoViewIfNeeded();
  const box = (await slider.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const slot = (box.width - LEFT) / (await bars(page));
  const [start, end] = [from, until].map((bar) => box.x + LEFT + (bar + 0.5) * slot) as [number, number];
  await page.mouse.move(start, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move((start + end) / 2, box.y + box.height / 2);
  await page.mouse.move(end, box.y + box.height / 2);
  await page.mouse.up();
}

const rangeOf = (page: Page) => new URL(page.url()).searchParams.get('range');

/** Expects the chosen range to be `minutes` long and the table to match it. */
async function expectChosen(page: Page, minutes: number): Promise<void> {
  await page.waitForURL((url) => url.searchParams.get('range')?.includes('T') ?? false);
  const [start = '', end = ''] = (rangeOf(page) ?? '').split(',');
  expect((Date.parse(end) - Date.parse(start)) / 60_000).toBe(minutes);
}

/** Returns the width of a color of the legend when its name is too long for one line, in pixels. */
async function swatchBesideLongName(page: Page): Promise<number | undefined> {
  return await page
    .locator('.legend-entry')
    .first()
    .evaluate((entry) => {
      entry.append('W'.repeat(500));
      return entry.querySelector('svg')?.getBoundingClientRect().width;
    });
}

export async function chosenOnChart(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  const body = {
    model: 'acme/small',
    messages: [{ role: 'user', content: 'Hello' }],
    max_completion_tokens: 5,
  };
  for (let call = 0; call < 2; call += 1) {
    await console.server.call('POST', '/api/v1/chat/completions', { token: customer.secret, body });
  }
  await open('usage?tab=requests&range=6h');
  await untilBars(page, 72);

  // by keyboard: selects the last three bars, cancels, then selects the last two
  await page.getByRole('slider').focus();
  await page.keyboard.press('Shift+ArrowLeft');
  await told(page, ' UTC · acme/small 2 · Enter shows this time range');
  await page.keyboard.press('Escape');
  await page.locator('[role="slider"]:not([aria-valuetext*="Enter"])').waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Enter');
  await untilBars(page, 3);
  await expectChosen(page, 15);
  await twoCalls(page);
  expect(await swatchBesideLongName(page)).toBe(12);
  await page.getByRole('link', { name: 'Back to: Last 6 hours' }).press('Enter');
  await untilBars(page, 72);
  expect(rangeOf(page)).toBe('6h');

  // by dragging backwards, then Back; calls outside the chosen range are not counted
  await drag(page, 71, 60);
  await untilBars(page, 12);
  await expectChosen(page, 60);
  await twoCalls(page);
  await page.goBack();
  await untilBars(page, 72);
  await drag(page, 20, 31);
  await page.getByText('No usage in this period.').waitFor();
  await expectChosen(page, 60);

  // costs are per hour whatever the range is, and a click on a bar still shows its calls
  await page.getByRole('link', { name: 'Cost', exact: true }).click();
  await page.getByText('Nothing was spent in this period.').waitFor();
  await page.getByRole('link', { name: 'Back to: Last 6 hours' }).click();
  await page.getByText('Costs are available per hour').waitFor();
  await page.getByText('= ledger ✓').waitFor();
  expect(await bars(page)).toBeLessThanOrEqual(7);
  const slider = page.getByRole('slider');
  const { width } = (await slider.boundingBox()) ?? { width: 0 };
  await slider.click({ position: { x: width - 8, y: 100 } });
  await page.getByRole('heading', { name: 'Generations' }).waitFor();

  // a call that its client ended counts here, and did not fail
  await open('usage?tab=speed');
  await page.getByRole('columnheader', { name: 'Incomplete' }).waitFor();
  expect(wrongs).toEqual([]);
  await context.close();
}

/** Checks that the filters of a page fold away on a phone behind a button that counts the active ones. */
export async function filtersOnPhone(console: ConsoleServer): Promise<void> {
  const visit = await console.signIn({ viewport: { width: 390, height: 844 }, hasTouch: true });
  const { page, context, open, wrongs, customer } = visit;
  await orderImage(console.server, customer);
  await open('tasks?kind=image');
  const toggle = page.getByRole('button', { name: 'Filters (1)' });
  await toggle.waitFor();
  expect(await page.getByLabel('Kind').isVisible()).toBe(false);
  await toggle.tap();
  await page.getByLabel('Kind').selectOption('video');
  await page.getByText('No images or videos').waitFor();
  expect(await toggle.getAttribute('aria-expanded')).toBe('true');
  await page.getByLabel('Kind').selectOption('');
  await page.locator('.card').first().waitFor();
  await page.getByRole('button', { name: 'Filters', exact: true }).tap();
  expect(await page.getByLabel('Kind').isVisible()).toBe(false);
  expect(wrongs).toEqual([]);
  await context.close();
}
