import type { ConsoleServer } from './console-server.ts';

const plain = (text: string) => text.replaceAll('\u202f', '').replaceAll(/\s+/g, ' ').trim();

/** The page of models names every price that a call may be charged, finds a model, and leads to trying it. */
export async function pricesOfModels(console: ConsoleServer): Promise<void> {
  const { page, open, wrongs, leave, customer } = await console.signIn();
  await open('models');
  const rows = page.getByRole('table', { name: 'Models' }).locator('tbody tr');
  const priced = async (id: string) => {
    const cells = await rows.filter({ hasText: id }).locator('td').allInnerTexts();
    return cells.slice(1).map(plain);
  };
  await rows.first().waitFor();
  const { data } = (await console.server.call('GET', '/api/v1/models', { token: customer.secret })).json;
  expect(await rows.count()).toBe(data.length);
  expect(await priced('acme/film')).toEqual([
    'Video',
    '–',
    '–',
    '–',
    '$0.05 per second $0.12 per second at 1920 × 1080',
  ]);
  expect(await priced('acme/photo')).toEqual([
    'Image',
    '–',
    '–',
    '–',
    '$0.02 per image $0.08 per image at 1600 × 1200',
  ]);
  expect(await priced('tollgate/embed')).toEqual(['Embeddings', '8,192', '$1.00', '–', '–']);

  await page.getByLabel('Kind').selectOption('video');
  await page.getByRole('searchbox', { name: 'Model' }).fill('FILM');
  await rows.nth(1).waitFor({ state: 'detached' });
  expect(await rows.count()).toBe(1);
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.getByLabel('Prompt').waitFor();
  expect(await page.getByLabel('Model').inputValue()).toBe('acme/film');
  expect(wrongs).toEqual([]);
  await leave();
}
