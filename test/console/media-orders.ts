import type { Page } from 'playwright-core';
import { picture } from '../browser/browser.ts';
import type { ConsoleServer } from './console-server.ts';

const optionsOf = (page: Page, label: string) => page.getByLabel(label).locator('option').allTextContents();
const costOf = async (page: Page) =>
  (await page.locator('form .amount').last().textContent())?.replaceAll('\u202f', '');

async function order(page: Page): Promise<void> {
  await page.getByLabel('Prompt').fill('slow waves');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('link', { name: 'Ordered. Show the task' }).waitFor();
}

/** Orders from two models that are not the built-in ones: each has sizes and prices of its own. */
export async function ordersAsOffered(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  await open('playground?kind=image');
  await page.getByLabel('Model').selectOption('acme/photo');
  expect(await optionsOf(page, 'Size')).toEqual(['800 × 600', '1600 × 1200']);
  expect(await costOf(page)).toBe('$0.02');
  await page.getByLabel('Size').selectOption('1600*1200');
  expect(await costOf(page)).toBe('$0.08');
  await order(page);
  await open('playground?kind=video');
  await page.getByLabel('Model').selectOption('acme/film');
  expect(await optionsOf(page, 'Size')).toEqual(['640 × 360', '1920 × 1080']);
  expect(await optionsOf(page, 'Length')).toEqual(['2 s', '4 s']);
  expect(await page.getByLabel(/^Steps/).count()).toBe(0);
  await page.getByLabel('Size').selectOption('1920*1080');
  await page.getByLabel('Length').selectOption('4');
  expect(await costOf(page)).toBe('$0.48');
  expect(await page.locator('.code').textContent()).toMatch(/video-fast[\s\S]*"model_name":"acme\/film"/);
  await picture(page, 'play-film');
  await order(page);
  const { json } = await console.server.call('GET', '/api/v1/tasks', { token: customer.secret });
  const amounts = json.data.map((task: { model: string; estimated_amount: string }) => [
    task.model,
    task.estimated_amount,
  ]);
  expect(amounts).toEqual([
    ['acme/film', '0.48'],
    ['acme/photo', '0.08'],
  ]);
  await page.getByRole('link', { name: 'Ordered. Show the task' }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'Run again with this seed' }).click();
  await page.getByLabel('Prompt').waitFor();
  expect(await page.getByLabel('Size').inputValue()).toBe('1920*1080');
  expect(await page.getByLabel('Length').inputValue()).toBe('4');
  expect(await costOf(page)).toBe('$0.48');
  // a model that takes neither: it starts with its own options
  await page.getByLabel('Model').selectOption('video-fast');
  expect(await optionsOf(page, 'Size')).toEqual(['1280 × 720', '720 × 1280']);
  expect(await costOf(page)).toBe('$0.04');
  expect(wrongs).toEqual([]);
  await context.close();
}
