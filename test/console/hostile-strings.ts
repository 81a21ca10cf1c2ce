import type { ConsoleServer } from './console-server.ts';

/**
 * Forty texts that have broken pages: markup, addresses that execute, templates, names of built-in object properties, bidirectional
 * scripts.
 */
export const HOSTILE: readonly string[] = [
  '<script>globalThis.hostile = 1</script>',
  '<img src=x onerror="globalThis.hostile = 2">',
  '"><svg onload=globalThis.hostile=3>',
  "'><iframe srcdoc='<script>parent.hostile=4</script>'>",
  '</td></tr></table><h1>outside</h1>',
  '</textarea><b>bold</b>',
  '</title><base href="//evil.example/">',
  '<a href="javascript:globalThis.hostile=5">go</a>',
  'javascript:globalThis.hostile=6',
  'data:text/html,<script>parent.hostile=7</script>',
  '<!-- a comment that does not end',
  '<![CDATA[ nor does this',
  '&lt;b&gt;twice&amp;amp;&#x3c;',
  '<style>* { display: none }</style>',
  '<form action="//evil.example"><input name=key>',
  '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<object data="//evil.example/x.swf"></object>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=globalThis.hostile=8>',
  '{{constructor.constructor("globalThis.hostile=9")()}}',
  '\u0024{globalThis.hostile=10}',
  '#{7*7} <%= 7*7 %> [[7*7]]',
  '{name} {id} {count} {text}',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'undefined null NaN -0',
  '=HYPERLINK("//evil.example","pay")',
  '+1-1@SUM(A1)',
  "'; DROP TABLE accounts; --",
  '\\u003cscript\\u003e \\" \\\\',
  '![picture](//evil.example/p.png) [link](javascript:hostile=11) `code`',
  '\u202eevil\u202c \u2066isolated\u2069',
  'zero\u200bwidth\u2060joined\ufeff text',
  'Z\u0361\u034fa\u0335\u0322l\u0336g\u0318o\u0321 over and under',
  '👩‍👩‍👧‍👦 🏴‍☠️ 𝒜𝓁𝒾𝒸ℯ',
  'مرحبا שלום mixed 123',
  '𠜎𠜱𠝹 한국어 ไม่มีช่องว่าง',
  'a'.repeat(190),
  'word '.repeat(38).trim(),
];

/** Counts the ways in which a text was interpreted as code or markup. */
const INJECTED = `[typeof globalThis.hostile, document.querySelectorAll('iframe, object, base[href*=evil], meta[http-equiv], form[action*=evil]' +
  ', #content script, #content style, #content [onerror], #content [onload], [href^="javascript:"], [src*=evil], [href*=evil]').length]`;

/** Expects the texts to be plain text on every page that shows what people write. */
export async function areText(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs, customer } = await console.signIn();
  const { call } = console.server;
  const account = `/admin/v1/accounts/${customer.account}`;
  expect(HOSTILE).toHaveLength(40);
  for (const [index, text] of HOSTILE.entries()) {
    const named = await call('POST', '/api/v1/keys', { token: customer.secret, body: { name: text } });
    const body = { amount: '0.01', reason: 'goodwill', description: text };
    const headers = { 'idempotency-key': `hostile-${customer.account}-${index}` };
    const booked = await call('POST', `${account}/adjustments`, { body, headers });
    expect([text, named.status, booked.status]).toEqual([text, 201, 201]);
  }
  await call('PATCH', account, { body: { name: HOSTILE.slice(0, 3).join(' ') } });
  const texts = (selector: string) => page.locator(selector).allTextContents();
  const looks = async (path: string, selector: string, wanted: readonly string[]) => {
    await open(path);
    await page
      .locator(selector)
      .nth(wanted.length - 1)
      .waitFor({ state: 'attached' });
    const seen = new Set((await texts(selector)).map((text) => text.trim()));
    expect([path, wanted.filter((text) => !seen.has(text))]).toEqual([path, []]);
    expect([path, await page.evaluate(INJECTED)]).toEqual([path, ['undefined', 0]]);
  };
  await looks('keys', '.row-button', HOSTILE);
  for (const path of ['generations', 'tasks', 'usage']) {
    await looks(path, 'option', HOSTILE);
  }
  await looks('billing', 'td', HOSTILE);
  await looks(`generations?model=${encodeURIComponent(HOSTILE[1]!)}`, 'option', HOSTILE.slice(2));
  await open('playground');
  await page.getByRole('textbox', { name: 'System' }).fill(HOSTILE.join('\n'));
  await page.getByLabel('Message').fill(HOSTILE.join('\n'));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('link', { name: 'Details' }).waitFor();
  expect((await texts('.turn-text'))[0]).toBe(HOSTILE.join('\n'));
  expect(await page.evaluate(INJECTED)).toEqual(['undefined', 0]);
  expect(wrongs).toEqual([]);
  await context.close();

  const operator = await console.signInOperator();
  const looksAt = async (path: string, wanted: readonly string[]) => {
    await operator.open(path);
    await operator.page
      .locator('tbody tr')
      .nth(Math.max(0, wanted.length - 1))
      .waitFor({ state: 'attached' });
    const seen = new Set((await operator.page.locator('td').allTextContents()).map((text) => text.trim()));
    expect([path, wanted.filter((text) => !seen.has(text))]).toEqual([path, []]);
    expect([path, await operator.page.evaluate(INJECTED)]).toEqual([path, ['undefined', 0]]);
  };
  await looksAt(`operator/accounts/${customer.account}?tab=keys`, HOSTILE);
  await looksAt(`operator/accounts/${customer.account}?tab=transactions`, HOSTILE);
  await looksAt('operator/accounts', [HOSTILE.slice(0, 3).join(' ')]);
  await looksAt(`operator/search?q=${encodeURIComponent(HOSTILE[0]!)}`, []);
  await looksAt('operator/audit', []);
  expect(operator.wrongs).toEqual([]);
  await operator.context.close();
}
