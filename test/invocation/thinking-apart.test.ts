import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Gateway, model } from './gateway.ts';

/** A provider whose `max_tokens` caps the answer only. It thinks as long as `thinking_budget` lets it, and bills both. */

const THOUGHT_MAX = 81_920;

let server: Server;
let gateway: Gateway;
let billed = 0;

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
function answerOf(body: any): object {
  const thought = body.enable_thinking ? Math.min(body.thinking_budget ?? THOUGHT_MAX, THOUGHT_MAX) : 0;
  billed = thought + body.max_tokens;
  const message = {
    role: 'assistant',
    reasoning_content: ' so'.repeat(thought),
    content: ' word'.repeat(body.max_tokens),
  };
  return {
    choices: [{ index: 0, message, finish_reason: 'length' }],
    usage: {
      prompt_tokens: 8,
      completion_tokens: billed,
      total_tokens: 8 + billed,
      completion_tokens_details: { reasoning_tokens: thought },
    },
  };
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answerOf(JSON.parse(Buffer.concat(chunks).toString()))));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  gateway = await Gateway.start({
    providers: [{ id: 'apart', protocol: 'openai', base_url, max_tokens_covers: 'answer' }],
    models: [model('to/apart', [{ provider: 'apart', model: 'qwen-plus' }])],
  });
});

afterAll(async () => {
  await gateway?.close();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

test.each([
  { enable_thinking: true, max_tokens: 1 },
  { enable_thinking: true, max_tokens: 20 },
  { enable_thinking: true, thinking_budget: 38_912, max_tokens: 20 },
  { enable_thinking: true, thinking_budget: 5, max_tokens: 20 },
  { max_tokens: 20 },
])('charges all that the provider bills for %j', async (members) => {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'to/apart', messages: [{ role: 'user', content: 'hi' }], ...members }),
  });
  expect(response.status).toBe(200);
  expect(billed).toBe(members.max_tokens);
  expect(gateway.ledger.last.usage.outputTokens).toBe(billed);
});
