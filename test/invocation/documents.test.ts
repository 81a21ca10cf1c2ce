import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import PDFDocument from 'pdfkit';
import sharp from 'sharp';
import { countTokens } from '../../src/providers/token-counter.ts';
import { Gateway, model } from './gateway.ts';

/** Documents of all kinds at a provider that counts them like Anthropic: the text of a page and its image. */

const CONTEXT = 200_000;
const PICTURE_TOKENS = 1_600;
const PAGE_TEXT = 'The quick brown fox jumps over the lazy dog, and then it does it again, 42 times. '.repeat(
  30,
);
const PAGE_TEXT_TOKENS = countTokens(PAGE_TEXT);
const PAGES = [1, 2, 3, 8, 20, 60, 300];

interface Scan {
  readonly pages: number;
  readonly jpeg: Buffer;
}

let provider: Server;
let gateway: Gateway;
/** Tokens the provider counts for the current request. */
let tokens = 0;
let asked = 0;

beforeAll(async () => {
  provider = createServer((request, response) => {
    request.resume().once('end', () => {
      asked += 1;
      const isTooLong = tokens > CONTEXT;
      response.writeHead(isTooLong ? 400 : 200, { 'content-type': 'application/json' });
      const message = `prompt is too long: ${tokens} tokens > ${CONTEXT} maximum`;
      const usage = { prompt_tokens: tokens, completion_tokens: 2, total_tokens: tokens + 2 };
      const choices = [
        { index: 0, message: { role: 'assistant', content: 'A fox.' }, finish_reason: 'stop' },
      ];
      response.end(
        JSON.stringify(isTooLong ? { error: { message } } : { object: 'chat.completion', choices, usage }),
      );
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  gateway = await Gateway.start({
    providers: [{ id: 'reader', protocol: 'openai', base_url: url }],
    models: [
      model('reads', [{ provider: 'reader', model: 'reader' }], {
        ...{ contextLength: CONTEXT, maxOutputTokens: 8_000, itemTokens: {}, filePageTokens: 5_000 },
      }),
    ],
    balance: '1000',
  });
});
afterAll(async () => {
  await gateway?.close();
  provider?.closeAllConnections();
  await new Promise((resolve) => provider?.close(resolve));
});

async function documentOf(pages: number, scan: Scan | undefined): Promise<Buffer> {
  const document = new PDFDocument({ autoFirstPage: false });
  for (let page = 0; page < pages; page += 1) {
    document.addPage();
    if (scan) {
      document.image(scan.jpeg, 0, 0, { width: 600 });
    } else {
      document.fontSize(8).text(PAGE_TEXT);
    }
  }
  document.end();
  return Buffer.concat(await document.toArray());
}

/** Asks about the document. Returns the status, and what was held and charged. */
async function ask(pdf: Buffer, isChat: boolean) {
  const data = pdf.toString('base64');
  const part = isChat
    ? { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` } }
    : { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
  const response = await fetch(gateway.url + (isChat ? '/api/v1/chat/completions' : '/vendorx/v1/messages'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'reads',
      max_tokens: 4_000,
      messages: [{ role: 'user', content: [part, { type: 'text', text: 'What is it about?' }] }],
    }),
  });
  await response.arrayBuffer();
  const { amount } = gateway.ledger.requests.at(-1)!;
  return { status: response.status, held: amount, charged: gateway.ledger.last.charge.amount };
}

test('accepts 50 documents of text and scans, 1 to 300 pages, and holds for each by its pages', async () => {
  const jpeg = await noise(200);
  for (let index = 0; index < 50; index += 1) {
    const pages = PAGES[index % PAGES.length]!;
    const scan = index % 3 === 0 ? { pages, jpeg } : undefined;
    const pdf = await documentOf(pages, scan);
    tokens = pages * (PICTURE_TOKENS + (scan ? 0 : PAGE_TEXT_TOKENS)) + 20;
    const { status, held, charged } = await ask(pdf, index % 2 === 0);
    // the provider itself rejects 300 pages as too many
    expect({ index, pages, status }).toEqual({ index, pages, status: tokens > CONTEXT ? 400 : 200 });
    expect(charged).toBeLessThanOrEqual(held);
    const most = Math.min(pages * 5_000 + 5_000, CONTEXT) + 4_000 * 2;
    expect(held).toBeLessThanOrEqual(BigInt(most) * 1_000n);
  }
  expect(asked).toBe(50);
});

test('admits a scan of 20 MB on a model of 200,000 tokens, with room for its answer', async () => {
  const jpeg = await noise(1_060);
  const pages = 20;
  const pdf = await documentOf(pages, { pages, jpeg });
  expect(pdf.length).toBeGreaterThan(19 * 2 ** 20);
  tokens = pages * PICTURE_TOKENS;
  const { status, held, charged } = await ask(pdf, true);
  expect(status).toBe(200);
  expect(charged).toBeLessThanOrEqual(held);
});

test('holds for all text of a document, however few its pages are', async () => {
  const text = 'The quick brown fox jumps over the lazy dog, and then it does it again. '.repeat(5_000);
  const document = new PDFDocument({ size: [5_000, 20_000], margin: 0 });
  document.fontSize(6).text(text);
  document.end();
  const pdf = Buffer.concat(await document.toArray());
  tokens = PICTURE_TOKENS + countTokens(text);
  expect(tokens).toBeGreaterThan(70_000);
  const { status, held, charged } = await ask(pdf, true);
  expect(status).toBe(200);
  expect(charged).toBeLessThanOrEqual(held);
});

test('holds for a text file as unknown, even if it looks like a PDF of one page', async () => {
  const text = `%PDF-1.7 1 0 obj << /Type /Page >> endobj ${'The quick brown fox. '.repeat(5_000)}`;
  tokens = countTokens(text);
  const data = Buffer.from(text).toString('base64');
  for (const file of [
    { filename: 'a.txt', file_data: `data:text/plain;base64,${data}` },
    { filename: 'a.txt', file_data: `data:application/pdf;base64,${data}` },
    { filename: 'a.pdf', file_data: `data:text/plain;base64,${data}` },
    { file_data: data },
  ]) {
    const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'reads', max_tokens: 100 },
        messages: [{ role: 'user', content: [{ type: 'file', file }] }],
      }),
    });
    expect(response.status).toBe(200);
    expect(gateway.ledger.requests.at(-1)?.amount).toBeGreaterThanOrEqual(BigInt(CONTEXT) * 1_000n);
  }
});

function noise(side: number): Promise<Buffer> {
  const gaussian = { type: 'gaussian', mean: 128, sigma: 70 } as const;
  return sharp({ create: { width: side, height: side, channels: 3, background: '#888', noise: gaussian } })
    .jpeg({ quality: 95 })
    .toBuffer();
}
