import PDFDocument from 'pdfkit';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';
import { receivedText } from './received-text.ts';

/** Inputs besides text at providers that report no usage, or none that is waited for. */

const ITEM_TOKENS = { image: 2_000, file: 20_000, audio: 3_000, video: 30_000 };
const PAGE_TOKENS = 1_500;
const PAGES = 3;

let openai: UpstreamServer;
let anthropic: UpstreamServer;
let gateway: Gateway;
let pdf: string;

beforeAll(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
  const others = {
    inputModalities: ['text', 'image', 'file', 'audio', 'video'],
    itemTokens: ITEM_TOKENS,
    filePageTokens: PAGE_TOKENS,
  };
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openai.url, on_disconnect: 'abort' },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropic.url, on_disconnect: 'abort' },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }], others),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], others),
    ],
  });
  const document = new PDFDocument({ autoFirstPage: false });
  for (let page = 0; page < PAGES; page += 1) {
    document.addPage().text('One page of an expensive document.');
  }
  document.end();
  pdf = Buffer.concat(await document.toArray()).toString('base64');
});

afterAll(async () => {
  await gateway?.close();
  await openai?.close();
  await anthropic?.close();
});

const chatParts = {
  image: () => ({ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }),
  pages: () => ({ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }),
  audio: () => ({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }),
  video: () => ({ type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } }),
};
const DECLARED = { ...ITEM_TOKENS, pages: PAGES * PAGE_TOKENS };
const KINDS = Object.keys(chatParts) as (keyof typeof chatParts)[];

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 50, ...body }),
    ...(signal && { signal }),
  });
}

const chat = (part: object, stream: boolean) => ({
  ...{ model: 'to/openai', stream },
  messages: [{ role: 'user', content: [part, { type: 'text', text: 'What is it?' }] }],
});

async function settled(before: number) {
  await eventually(async () => gateway.ledger.settlements.length > before);
  return gateway.ledger.last;
}

/** The declared tokens, and at most the few of the text besides. */
function expectDeclared(tokens: number, declared: number): void {
  expect(tokens).toBeGreaterThan(declared);
  expect(tokens).toBeLessThan(declared + 40);
}

describe.each(KINDS)('%s', (kind) => {
  test('counts as the model declares when the provider reports nothing', async () => {
    openai.reset({ fault: 'no_usage' });
    await receivedText(await post('/api/v1/chat/completions', chat(chatParts[kind](), false)));
    expect(gateway.ledger.last.usageSource).toBe('counted');
    expectDeclared(gateway.ledger.last.usage.inputTokens, DECLARED[kind]);
  });

  test('counts as much for a client that hangs up before the report', async () => {
    openai.reset({ fault: 'hang_mid_stream' });
    const before = gateway.ledger.settlements.length;
    const controller = new AbortController();
    const response = await post('/api/v1/chat/completions', chat(chatParts[kind](), true), controller.signal);
    const reader = response.body!.getReader();
    await reader.read();
    controller.abort();
    const { status, usage } = await settled(before);
    expect(status).toBe('cancelled');
    expectDeclared(usage.inputTokens, DECLARED[kind]);
  });
});

test('a document in the messages dialect is charged and counted by its pages', async () => {
  const source = { type: 'base64', media_type: 'application/pdf', data: pdf };
  const content = [
    { type: 'document', source },
    { type: 'text', text: 'What is it?' },
  ];
  const body = { model: 'to/anthropic', messages: [{ role: 'user', content }] };
  anthropic.reset({ fault: 'no_usage' });
  await receivedText(await post('/vendorx/v1/messages', body));
  expectDeclared(gateway.ledger.last.usage.inputTokens, DECLARED.pages);
  const counted = JSON.parse(await receivedText(await post('/vendorx/v1/messages/count_tokens', body)));
  expectDeclared(counted.input_tokens, DECLARED.pages);
});
