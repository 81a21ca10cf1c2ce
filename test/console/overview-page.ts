import { picture } from '../browser/browser.ts';
import { eventually } from '../factories/eventually.ts';
import { orderImage, orderVideo } from '../operators/support/customer.ts';
import type { ConsoleServer } from './console-server.ts';

const IMAGES = 24;

/** Orders more images than the panel shows, after a video that is being made. */
export async function workingFirst(console: ConsoleServer): Promise<void> {
  const { page, leave, open, customer } = await console.signIn();
  const { call } = console.server;
  const video = await orderVideo(console.server, customer);
  await eventually(
    async () => {
      const { json } = await call('GET', `/api/v1/tasks/${video}`, { token: customer.secret });
      return json.data.status !== 'queued';
    },
    30_000,
    'the start of the video',
  );
  // the page sees these states for as long as it is looked at, however fast the worker is
  const frozen = await call('GET', `/api/v1/tasks/${video}`, { token: customer.secret });
  await Promise.all(Array.from({ length: IMAGES }, () => orderImage(console.server, customer)));
  const newest = await call('GET', '/api/v1/tasks?limit=1', { token: customer.secret });
  const waiting = Array.from({ length: IMAGES }, (_, index) => ({
    ...newest.json.data[0],
    ...{ id: `gen-waiting-${index}`, status: 'queued', completed_at: null },
  }));
  const all = [...waiting, { ...frozen.json.data, status: 'generating' }];
  await page.route(/api\/v1\/tasks\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const states = query.get('status')?.split(',');
    const data = all.filter(({ status }) => !states || states.includes(status));
    await route.fulfill({ json: { data: data.slice(0, Number(query.get('limit'))), request_id: 'req_1' } });
  });
  const account = await call('GET', '/api/v1/account', { token: customer.secret });
  const crowded = { ...account.json, data: { ...account.json.data, running_tasks: all.length } };
  await page.route(/api\/v1\/account$/, (route) => route.fulfill({ json: crowded }));
  await open('');
  const running = page.locator('.running li');
  await running.nth(19).waitFor();
  expect(await running.first().textContent()).toContain('video-fast');
  expect(await running.count()).toBe(20);
  await page.getByText(`and ${IMAGES + 1 - 20} more`).waitFor();
  await picture(page, 'running-now');
  await leave();
}

/** Spends on the first day of an account. */
export async function longEstimate(console: ConsoleServer): Promise<void> {
  const { page, leave, open, customer } = await console.signIn();
  const { call } = console.server;
  await page.route(/api\/v1\/costs\?/, async (route) => {
    const start = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000).toISOString();
    const row = { period_start: start, period_end: start, amount: { value: '1.00', currency: 'USD' } };
    await route.fulfill({ json: { data: [row], request_id: 'req_1' } });
  });
  const account = await call('GET', '/api/v1/account', { token: customer.secret });
  expect(account).toMatchObject({ status: 200, json: { data: { available: '10.00' } } });
  await open('');
  await page.locator('.figure').filter({ hasText: 'At this rate' }).getByText('10 days left').waitFor();
  await leave();
}

/** Fails to read the failed tasks of a day, then reads as many as one page has. */
export async function attentionIsTrue(console: ConsoleServer): Promise<void> {
  const { page, leave, open } = await console.signIn();
  const panel = page.locator('.panel', { hasText: 'Needs attention' });
  const completed = new Date().toISOString();
  const error = { code: 'engine_timeout', message: '' };
  let failed: readonly object[] | undefined;
  let asked = 0;
  await page.route(/api\/v1\/tasks\?.*status=failed/, (route) => {
    asked += 1;
    return route.fulfill(
      failed
        ? { json: { data: failed } }
        : { status: 400, json: { error: { code: 'x', message: 'Unread.' } } },
    );
  });
  await open('');
  await panel.getByText('Unread.').waitFor();
  expect(await panel.getByText('Nothing.').count()).toBe(0);
  const again = panel.getByRole('button', { name: 'Try again' });
  const askedBefore = asked;
  await again.click();
  await eventually(async () => asked > askedBefore);
  failed = [];
  // the page also asks by itself: the button may be gone before it is found
  await eventually(async () => {
    await again.click({ timeout: 1_000 }).catch(() => undefined);
    return await panel.getByText('Nothing. All keys').isVisible();
  });
  failed = Array.from({ length: 20 }, (_, id) => ({ id: `gen-${id}`, completed_at: completed, error }));
  await open('');
  await panel.getByText('20 or more tasks failed: engine_timeout').waitFor();
  await leave();
}
