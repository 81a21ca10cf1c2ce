import { createHash } from 'node:crypto';
import pg from 'pg';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { usd } from '../factories/ledger.ts';
import { testMonthClose } from '../factories/month-close.ts';
import { pdfText, streamsOf } from './support/pdf-text.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

interface Invoice {
  id: string;
  status: string;
  period_start: string;
  period_end: string;
  currency: string;
  opening_balance: string;
  credit_purchase_total: string;
  usage_charge_total: string;
  refund_total: string;
  adjustment_total: string;
  closing_balance: string;
}

let server: TestServer;
let accountId: string;
let owner: TestKey;

/** Three months: a closed one with usage, a closed one with only a refund, and the current one. */
beforeAll(async () => {
  server = await startTestServer();
  const { url } = server.test;
  const at = <T>(offset: string, work: (money: TestServer['database']) => Promise<T>) =>
    atTime(url, server.database, offset, work);
  accountId = await at(
    daysBack(2),
    async (database) => (await createAccount(database, { credits: '5.00' })).id,
  );
  owner = await createKey(server.database, accountId);
  const generation = await at(daysBack(2), (database) =>
    createGeneration(database, { accountId, apiKeyId: owner.id, charge: '1.25' }),
  );
  await at(daysBack(1), (database) =>
    new Movements(() => database.money).refundCharge(
      { accountId, reference: newUuid(), description: '=cmd()' },
      generation,
      usd('0.25'),
    ),
  );
  await server.database.money.query('SELECT close_months($1)', [accountId]);
  await createGeneration(server.database, { accountId, apiKeyId: owner.id, charge: '0.50' });
});
afterAll(() => server?.close());

const list = async (query = ''): Promise<Invoice[]> => {
  const answer = await server.call('GET', `/api/v1/billing/invoices${query}`, { key: owner.secret });
  expect(answer.status).toBe(200);
  return answer.json.data;
};

test('lists the current month as a draft, then the closed ones, with exactly the fields of the interface', async () => {
  const invoices = await list();
  expect(invoices.map(({ status }) => status)).toEqual(['draft', 'open', 'open']);
  expect(invoices[0]).toEqual({
    id: expect.stringMatching(/^inv_[0-9A-Z]{26}$/),
    status: 'draft',
    period_start: monthsBack(0),
    period_end: monthsBack(-1),
    currency: 'USD',
    opening_balance: '4.00',
    credit_purchase_total: '0.00',
    usage_charge_total: '0.50',
    refund_total: '0.00',
    adjustment_total: '0.00',
    closing_balance: '3.50',
  });
  expect(invoices[1]).toMatchObject({
    opening_balance: '3.75',
    refund_total: '0.25',
    usage_charge_total: '0.00',
    closing_balance: '4.00',
  });
  expect(invoices[2]).toMatchObject({
    opening_balance: '0.00',
    adjustment_total: '5.00',
    usage_charge_total: '1.25',
    closing_balance: '3.75',
  });
});

test('closing = opening + purchases − usage + refunds + adjustments, and each month opens where the previous one closed', async () => {
  const invoices = await list();
  for (const [index, invoice] of invoices.entries()) {
    const { opening_balance: opening, credit_purchase_total: purchases, usage_charge_total: usage } = invoice;
    const sum =
      usd(opening) + usd(purchases) - usd(usage) + usd(invoice.refund_total) + usd(invoice.adjustment_total);
    expect(usd(invoice.closing_balance)).toBe(sum);
    expect(invoices[index + 1]?.closing_balance ?? '0.00').toBe(opening);
  }
});

test('returns one by its id, with the ids of its entries and the request id as a header', async () => {
  for (const invoice of await list()) {
    const answer = await server.call('GET', `/api/v1/billing/invoices/${invoice.id}`, { key: owner.secret });
    expect(answer.json.data).toEqual(invoice);
    expect(Object.keys(answer.json).sort()).toEqual(['balance_transactions', 'data', 'request_id']);
    expect(answer.headers.get('x-request-id')).toBe(answer.json.request_id);
    for (const id of answer.json.balance_transactions) {
      const row = await server.call('GET', `/api/v1/billing/balance-transactions/${id}`, {
        key: owner.secret,
      });
      expect(row.json.data.invoice_id).toBe(invoice.id);
    }
  }
});

describe('filters and pages', () => {
  test.each<[string, number]>([
    ['?status=draft', 1],
    ['?status=open', 2],
    ['?status=paid', 0],
    [`?period_start=${monthsBack(0)}`, 1],
    [`?period_end=${monthsBack(0)}`, 2],
    [`?period_start=${monthsBack(1)}&period_end=${monthsBack(0)}`, 1],
    ['?period_end=2001-01-01T00:00:00Z', 0],
  ])('%s', async (query, count) => {
    expect(await list(query)).toHaveLength(count);
  });

  test('pages of one', async () => {
    const seen: Invoice[] = [];
    let path: string | undefined = '/api/v1/billing/invoices?limit=1';
    while (path) {
      const answer: Awaited<ReturnType<typeof server.call>> = await server.call('GET', path, {
        key: owner.secret,
      });
      seen.push(...answer.json.data);
      path = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual(await list());
  });

  test.each(['status=unpaid', 'period_start=x', 'period_start=2&period_end=1', 'month=1'])(
    'returns 400 for %s',
    async (query) => {
      expect(
        (await server.call('GET', `/api/v1/billing/invoices?${query}`, { key: owner.secret })).status,
      ).toBe(400);
    },
  );
});

test('returns the same 404 for an unknown id and for an id of another account', async () => {
  const [mine] = await list();
  const foreign = await createKey(server.database, (await createAccount(server.database)).id);
  const answers = [
    await server.call('GET', `/api/v1/billing/invoices/${mine?.id}`, { key: foreign.secret }),
    await server.call('GET', `/api/v1/billing/invoices/inv_${'0'.repeat(26)}`, { key: foreign.secret }),
  ];
  for (const answer of answers) {
    expect([answer.status, answer.json.error.code]).toEqual([404, 'invoice_not_found']);
    expect({ ...answer.json, request_id: '' }).toEqual({ ...answers[0]?.json, request_id: '' });
  }
});

describe('the statement as a document', () => {
  test.each<[string, Record<string, string>]>([
    ['.csv', {}],
    ['', { accept: 'text/csv' }],
  ])('CSV%s: every entry, oldest first, no formulas', async (suffix, headers) => {
    const month = (await list())[1];
    const answer = await server.call('GET', `/api/v1/billing/invoices/${month?.id}${suffix}`, {
      key: owner.secret,
      headers,
    });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="statement-\d{4}-\d{2}\.csv"$/,
    );
    const [head, first, end] = answer.text.split('\r\n');
    expect(head).toBe(
      'date,transaction_id,type,description,amount,balance_after,currency,generation_id,checkout_session_id',
    );
    expect(first).toMatch(/^[^,]+Z,txn_R\w+,refund,'=cmd\(\),0\.25,4\.00,USD,gen-\w+,$/);
    expect(end).toBe('');
  });

  test.each<[string, Record<string, string>]>([
    ['.pdf', {}],
    ['', { accept: 'application/pdf, application/json' }],
  ])('PDF%s: totals, entries and a link to each generation', async (suffix, headers) => {
    const month = (await list())[2];
    const response = await fetch(`${server.url}/api/v1/billing/invoices/${month?.id}${suffix}`, {
      headers: { authorization: `Bearer ${owner.secret}`, ...headers },
    });
    expect(response.headers.get('content-type')).toBe('application/pdf');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    const text = pdfText(bytes);
    for (const part of [
      'Statement',
      month?.id ?? '',
      'Closing balance',
      '3.75',
      '-1.25',
      'Opening credits',
    ]) {
      expect(text).toContain(part);
    }
    expect(bytes.toString('latin1')).toContain('/api/v1/generation?id=gen-');
  });

  test.each([
    ['Łódź Źdźbło Sp. z o.o.', 'Łódź Źdźbło Sp. z o.o.'],
    ['Ελλάδα Α.Ε.', 'Ελλάδα Α.Ε.'],
    ['Торговый дом «Застава»', 'Торговый дом «Застава»'],
    ['Émile & Söhne GmbH', 'Émile & Söhne GmbH'],
    ['東京テスト株式会社 Acme', '東京テスト株式会社 Acme'],
    ['上海示例科技有限公司（浦东）', '上海示例科技有限公司（浦东）'],
    ['서울시험주식회사 & 龍國際', '서울시험주식회사 & 龍國際'],
    // in none of the fonts: shown as missing
    ['𒀀 Acme', '□ Acme'],
  ])('the PDF names the account %s as %s', async (name, shown) => {
    const account = await createAccount(server.database, { name, credits: '5.00' });
    const { secret } = await createKey(server.database, account.id);
    const [draft] = (await server.call('GET', '/api/v1/billing/invoices', { key: secret })).json.data;
    const response = await fetch(`${server.url}/api/v1/billing/invoices/${draft.id}.pdf`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = embeddedText(bytes);
    expect(text).toContain(shown);
    for (const outlines of outlineBytes(bytes)) {
      expect(outlines).toBeGreaterThan(100);
    }
    expect(text).toContain(publicId('account', account.id));
    expect(text.includes('A box stands for a character')).toBe(name !== shown);
  });

  test('JSON stays the default', async () => {
    const [draft] = await list();
    const headers = { accept: 'application/json, text/csv' };
    const answer = await server.call('GET', `/api/v1/billing/invoices/${draft?.id}`, {
      key: owner.secret,
      headers,
    });
    expect(answer.json.data.id).toBe(draft?.id);
  });
});

describe('issued documents', () => {
  const seller = {
    name: 'Acme Gateways GmbH',
    address: ['Hauptstr. 1', '10115 Berlin'],
    tax_id: 'DE123456789',
    tax: { name: '消費税', percent: '10' },
    notes: ['Thank you.'],
  };
  let issuer: TestServer;
  let account: string;
  let key: TestKey;
  const read = async (path: string) => {
    const response = await fetch(`${issuer.url}${path}`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    expect(response.status).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    const sha256 = createHash('sha256').update(bytes).digest('base64');
    return { bytes, isWhole: response.headers.get('repr-digest') === `sha-256=:${sha256}:` };
  };
  const patch = (body: object) =>
    issuer.call('PATCH', `/admin/v1/accounts/${publicId('account', account)}`, { key: ADMIN_TOKEN, body });

  beforeAll(async () => {
    issuer = await startTestServer({ seller });
    const { url } = issuer.test;
    account = await atTime(
      url,
      issuer.database,
      daysBack(2),
      async (database) => (await createAccount(database, { name: 'Buyer', credits: '5.00' })).id,
    );
    key = await createKey(issuer.database, account);
    await atTime(url, issuer.database, daysBack(1), (database) =>
      createGeneration(database, {
        accountId: account,
        apiKeyId: key.id,
        model: 'acme/small',
        charge: '1.25',
      }),
    );
    await patch({ billing: { name: 'Buyer & Söhne', address: ['Gasse 2'], tax_id: 'ATU99999999' } });
    await testMonthClose(issuer.database, seller).closeDueMonths();
  });
  afterAll(() => issuer?.close());

  test('a final statement keeps its bytes, whatever is renamed later', async () => {
    const { json } = await issuer.call('GET', '/api/v1/billing/invoices?status=paid', { key: key.secret });
    const path = `/api/v1/billing/invoices/${json.data[0].id}`;
    const before = await read(`${path}.pdf`);
    const csv = await read(`${path}.csv`);
    await patch({ name: 'Somebody Else', billing: null });
    const after = await read(`${path}.pdf`);
    expect(after.bytes.equals(before.bytes)).toBe(true);
    expect((await read(`${path}.csv`)).bytes.equals(csv.bytes)).toBe(true);
    expect([before.isWhole, csv.isWhole]).toEqual([true, true]);
    const text = pdfText(after.bytes);
    for (const part of [
      'Acme Gateways GmbH',
      'Tax id DE123456789',
      'Buyer & Söhne',
      'Tax id ATU99999999',
      'ST-00000',
      'final',
    ]) {
      expect(text).toContain(part);
    }
    for (const part of [
      'Usage by model',
      'acme/small',
      'Usage by key',
      'Usage by day (UTC)',
      '1.250000000',
      'page 1 of 1',
    ]) {
      expect(text).toContain(part);
    }
  });

  test('documents are numbered without gaps in the order they were issued', async () => {
    const path = `/admin/v1/accounts/${publicId('account', account)}/statements`;
    const { json } = await issuer.call('GET', path, { key: ADMIN_TOKEN });
    expect(json.data.map(({ number }: { number: string }) => number)).toEqual(['ST-000002', 'ST-000001']);
    expect(json.data[0]).toMatchObject({
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      pdf_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('reports a document that was changed in the database', async () => {
    const owner = new pg.Client({ connectionString: issuer.test.ownerUrl });
    await owner.connect();
    await owner.query('SET session_replication_role = replica');
    const edit = (content: string) =>
      owner.query(`UPDATE documents SET pdf = ${content} WHERE kind = 'statement' AND number = 1`);
    await edit(`pdf || 'x'`);
    const { json } = await issuer.call('GET', '/admin/v1/ledger/verify', { key: ADMIN_TOKEN });
    expect(json.data.violations).toMatchObject([{ detail: 'statement 1 was changed' }]);
    await edit('substr(pdf, 1, length(pdf) - 1)');
    await owner.end();
  });

  test('a purchase has a receipt with its tax once it is paid', async () => {
    const { json } = await issuer.call('POST', '/api/v1/billing/checkout/sessions', {
      key: key.secret,
      body: { amount: '25.00' },
    });
    const path = `/api/v1/billing/checkout/sessions/${json.data.id}/receipt`;
    expect((await issuer.call('GET', path, { key: key.secret })).status).toBe(404);
    await fetch(`${issuer.url}${new URL(json.data.url).pathname}`, { method: 'POST', redirect: 'manual' });
    const first = await read(path);
    expect((await read(path)).bytes.equals(first.bytes)).toBe(true);
    const text = embeddedText(first.bytes);
    for (const part of [
      'Receipt',
      'RC-000001',
      'Net',
      '22.73',
      '消費税 10 %',
      '2.27',
      'Total paid',
      '25.00',
      'Thank you.',
    ]) {
      expect(text).toContain(part);
    }
  });
});

/** Returns the text of a PDF, including text in embedded fonts. */
function embeddedText(bytes: Buffer): string {
  const fonts = embeddedFonts(bytes);
  const lines = streamsOf(bytes).map((stream) =>
    [...stream.matchAll(/\/(F\d+) [\d.]+ Tf\n[\s\S]*?\[([^\]]*)\] TJ/g)]
      .map(([, font = '', line = '']) => {
        const hex = [...line.matchAll(/<([0-9a-f]*)>/g)].map(([, digits]) => digits).join('');
        const characters = fonts.get(font);
        return characters
          ? (hex.match(/.{4}/g) ?? []).map((glyph) => characters.get(glyph) ?? '').join('')
          : Buffer.from(hex, 'hex').toString('latin1');
      })
      .join(''),
  );
  return `${pdfText(bytes)}\n${lines.join('\n')}`;
}

/** Maps the glyphs of each embedded font to characters, by the font's name on the pages. */
function embeddedFonts(bytes: Buffer): Map<string, Map<string, string>> {
  const text = bytes.toString('latin1');
  const objects = new Map(
    [...text.matchAll(/(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id = '', body = '']) => [id, body]),
  );
  const fonts = new Map<string, Map<string, string>>();
  for (const [, name = '', id = ''] of text.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
    const unicode = /\/ToUnicode (\d+) 0 R/.exec(objects.get(id) ?? '')?.[1];
    const [map] = unicode === undefined ? [] : streamsOf(Buffer.from(objects.get(unicode) ?? '', 'latin1'));
    if (map !== undefined) {
      fonts.set(name, charactersOf(map));
    }
  }
  return fonts;
}

function charactersOf(map: string): Map<string, string> {
  const characters = new Map<string, string>();
  for (const [, ranges = ''] of map.matchAll(/beginbfrange\n([\s\S]*?)\nendbfrange/g)) {
    for (const [, first = '', list = ''] of ranges.matchAll(/<([0-9a-f]+)> <[0-9a-f]+> \[([^\]]*)\]/g)) {
      [...list.matchAll(/<([0-9a-f]+)>/g)].forEach(([, code = ''], index) => {
        const glyph = (Number.parseInt(first, 16) + index).toString(16).padStart(4, '0');
        characters.set(glyph, Buffer.from(code, 'hex').swap16().toString('utf16le'));
      });
    }
  }
  return characters;
}

/** Returns the size in bytes of the outlines in each embedded font: blank glyphs take next to nothing. */
function outlineBytes(bytes: Buffer): number[] {
  return streamsOf(bytes)
    .filter((stream) => stream.startsWith('true') || stream.startsWith('\0\x01\0\0'))
    .map((stream) => {
      const font = Buffer.from(stream, 'latin1');
      const tables = Array.from({ length: font.readUInt16BE(4) }, (_, index) =>
        font.subarray(12 + 16 * index, 28 + 16 * index),
      );
      return tables.find((table) => table.toString('latin1', 0, 4) === 'glyf')?.readUInt32BE(12) ?? 0;
    });
}

/** Returns the first instant of the month `count` months ago. */
function monthsBack(count: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString();
}

/** Returns the offset from now to the tenth of the month `count` months ago. */
function daysBack(count: number): string {
  const target = Date.parse(monthsBack(count)) + 9 * 86_400_000;
  return `-${Math.round((Date.now() - target) / 1000)} seconds`;
}
