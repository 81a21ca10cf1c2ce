import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../factories/eventually.ts';
import { Gateway, model } from './gateway.ts';

/** A stream may last as long as it makes progress: silence ends it, not its age. */

const IDLE_MS = 600;
const WORDS = 24;

let wordsApartMs: number;
/** Silence before the answer begins. */
let silentMs = 0;
/** Number of words after which the provider is silent; when all are said, the end still follows. */
let wordsSaid: number;
let server: Server;
let gateway: Gateway;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const frame = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    let said = 0;
    const answersAt = performance.now() + silentMs;
    const timer = setInterval(() => {
      if (performance.now() < answersAt) {
        return;
      }
      if (said === 0) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
      }
      if (said < wordsSaid) {
        said += 1;
        frame({ choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] });
      } else if (said === WORDS) {
        frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
        frame({
          choices: [],
          usage: { prompt_tokens: 7, completion_tokens: WORDS, total_tokens: 7 + WORDS },
        });
        response.end('data: [DONE]\n\n');
      }
    }, wordsApartMs);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const timeouts = { first_byte_ms: IDLE_MS, idle_ms: IDLE_MS };
  gateway = await Gateway.start({
    providers: [{ id: 'p', protocol: 'openai', base_url, timeouts }],
    models: [
      model('m', [{ provider: 'p', model: 'gpt' }]),
      model('reasoner', [{ provider: 'p', model: 'gpt-5' }]),
    ],
  });
});

afterAll(async () => {
  await gateway?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

async function stream(id = 'm'): Promise<string> {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, stream: true, messages: [{ role: 'user', content: 'hello' }] }),
  });
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
    }
  } catch {
    // the connection of an unfinished answer is reset
  }
  return text;
}

test('lets a stream that makes progress outlive its idle timeout many times over', async () => {
  wordsApartMs = 110;
  wordsSaid = WORDS;
  const text = await stream();
  expect(text.split(' word').length - 1).toBe(WORDS);
  expect(text).toContain('[DONE]');
  const { status, latencyMs, usage } = gateway.ledger.last;
  expect({ status, output: usage.outputTokens }).toEqual({ status: 'completed', output: WORDS });
  expect(latencyMs).toBeGreaterThan(IDLE_MS * 4);
});

test('cuts a stalled stream and charges what was delivered', async () => {
  wordsApartMs = 5;
  wordsSaid = 10;
  const before = gateway.ledger.settlements.length;
  const startedAt = performance.now();
  const text = await stream();
  await eventually(async () => gateway.ledger.settlements.length > before);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(IDLE_MS);
  expect(text).toContain('provider_timeout');
  expect(text).not.toContain('[DONE]');
  const { status, charge, usage, latencyMs } = gateway.ledger.last;
  expect({ status, output: usage.outputTokens }).toEqual({ status: 'failed', output: 10 });
  expect(charge.amount).toBeGreaterThanOrEqual(10n * 2_000n);
  expect(latencyMs).toBeLessThan(10_000);
});

test('waits while a model reasons in silence, and for no other', async () => {
  wordsApartMs = 5;
  wordsSaid = WORDS;
  silentMs = IDLE_MS * 2;
  expect(await stream('reasoner')).toContain('[DONE]');
  expect(gateway.ledger.last).toMatchObject({ status: 'completed', usage: { outputTokens: WORDS } });
  expect(await stream()).toContain('provider_timeout');
  silentMs = 0;
});
