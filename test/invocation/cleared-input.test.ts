import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANTHROPIC_INPUT_TOKENS, startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** Prompts of which Anthropic clears old tool results before the model reads them: it bills and reports what is left. */

const BETA = 'context-management-2025-06-27';
const CONTEXT = 8_000;

let upstream: UpstreamServer;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [{ id: 'anthropic', protocol: 'anthropic', base_url: upstream.url, api_key: 'k' }],
    models: [model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], { contextLength: CONTEXT })],
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** Sends an agent's conversation with one long tool result, or one long input of a call. */
async function converse(
  { result = 'ok', input = 'x' }: { readonly result?: string; readonly input?: string },
  management?: object,
): Promise<Response> {
  return await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-beta': BETA },
    body: JSON.stringify({
      model: 'to/anthropic',
      max_tokens: 20,
      messages: [
        { role: 'user', content: 'Read the log.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read', input: { input } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: result }] },
        { role: 'user', content: 'And?' },
      ],
      ...(management && { context_management: { edits: [management] } }),
    }),
  });
}

const LONG = 'one line of a log that nobody needs any more\n'.repeat(200);
const CLEAR = { type: 'clear_tool_uses_20250919' };

/** Input tokens that were charged for the last call. */
const charged = () => gateway.ledger.last.usage.inputTokens;

test('charges what the provider reports for a prompt whose tool results it may clear', async () => {
  await converse({ result: LONG }, CLEAR);
  expect(upstream.last.body.context_management).toEqual({ edits: [CLEAR] });
  expect(gateway.ledger.last.usageSource).toBe('provider');
  expect(charged()).toBe(ANTHROPIC_INPUT_TOKENS);
  await converse({ input: LONG }, { ...CLEAR, clear_tool_inputs: true });
  expect(charged()).toBe(ANTHROPIC_INPUT_TOKENS);
});

test('disbelieves such a report of a prompt that nothing is cleared of', async () => {
  const clearThinking = { type: 'clear_thinking_20251015', keep: 'all' };
  for (const [texts, management] of [
    [{ result: LONG }, undefined],
    [{ result: LONG }, clearThinking],
    [{ input: LONG }, CLEAR],
  ] as const) {
    await converse(texts, management);
    expect(gateway.ledger.last.usageSource).toBe('counted');
    expect(charged()).toBeGreaterThan(1_500);
  }
});

test('holds for all of a prompt that may be cleared, and sends one that only fits once it is', async () => {
  const least = (await converse({ result: LONG })).status;
  const held = gateway.ledger.requests.at(-1)?.amount ?? 0n;
  await converse({ result: LONG }, CLEAR);
  expect(least).toBe(200);
  expect(gateway.ledger.requests.at(-1)?.amount).toBeGreaterThanOrEqual(held);
  const tooLong = LONG.repeat(5);
  expect((await converse({ result: tooLong })).status).toBe(400);
  expect((await converse({ result: tooLong }, CLEAR)).status).toBe(200);
});
