import { createLogger } from '../../src/lib/logger.ts';
import { namedEvent, ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from './gateway.ts';

/**
 * A stream ends with the protocol's own event. The name of that event inside a customer's text or tool must not end anything: it once
 * made such calls free, and ten of them took the provider away from everybody.
 */

let upstream: ReplayUpstream;
let gateway: Gateway;
const warnings: string[] = [];

beforeAll(async () => {
  upstream = await new ReplayUpstream().start();
  gateway = await Gateway.start({
    log: createLogger({ name: 'test', level: 'warn' }, { write: (line) => warnings.push(line) }),
    providers: [{ id: 'claude', protocol: 'anthropic', base_url: upstream.url }],
    models: [model('claude', [{ provider: 'claude', model: 'claude' }])],
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const START = namedEvent({
  type: 'message_start',
  message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 20, output_tokens: 1 } },
});
const STOP = namedEvent({ type: 'message_stop' });

function ending(stopReason: string): string {
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return namedEvent({ type: 'message_delta', delta, usage: { output_tokens: 8 } });
}

function start(contentBlock: object): string {
  return namedEvent({ type: 'content_block_start', index: 0, content_block: contentBlock });
}

function delta(body: object): string {
  return namedEvent({ type: 'content_block_delta', index: 0, delta: body });
}

const CLOSE = namedEvent({ type: 'content_block_stop', index: 0 });

/** The word as the name of a tool, as a whole delta of text and of arguments, and as the text of a block. */
const PACKETS: Record<string, string[]> = {
  'a tool with that name': [
    START,
    start({ type: 'tool_use', id: 'toolu_1', name: 'message_stop', input: {} }),
    delta({ type: 'input_json_delta', partial_json: '{"city":"Oslo"}' }),
    CLOSE,
    ending('tool_use'),
    STOP,
  ],
  'text with that word': [
    START,
    start({ type: 'text', text: '' }),
    delta({ type: 'text_delta', text: 'the last event is ' }),
    delta({ type: 'text_delta', text: 'message_stop' }),
    delta({ type: 'text_delta', text: ' and that is all.' }),
    CLOSE,
    ending('end_turn'),
    STOP,
  ],
  'arguments with that word': [
    START,
    start({ type: 'tool_use', id: 'toolu_1', name: 'lookup', input: {} }),
    delta({ type: 'input_json_delta', partial_json: '{"q":' }),
    delta({ type: 'input_json_delta', partial_json: '"message_stop"' }),
    delta({ type: 'input_json_delta', partial_json: '}' }),
    CLOSE,
    ending('tool_use'),
    STOP,
  ],
};

async function ask(path: string, account = 'account'): Promise<string> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-test-account': account },
    body: JSON.stringify({
      model: 'claude',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });
  return `${response.status} ${await response.text()}`;
}

describe.each(Object.keys(PACKETS))('%s', (name) => {
  test.each([
    ['/v1/messages', 'event: message_stop'],
    ['/api/v1/chat/completions', 'data: [DONE]'],
  ])(
    'is delivered whole and charged on %s, ten times, and leaves the provider available',
    async (path, end) => {
      upstream.play('claude', { packets: PACKETS[name]! });
      for (let call = 0; call < 10; call += 1) {
        const text = await ask(path);
        expect(text).toMatch(/^200 /);
        expect(text).not.toContain('provider_error');
        expect(text.trimEnd().split('\n\n').at(-1)).toContain(end);
        expect(gateway.ledger.last).toMatchObject({
          status: 'completed',
          usageSource: 'provider',
          usage: { inputTokens: 20, outputTokens: 8 },
        });
      }
    },
  );
});

test.each(['/v1/messages', '/api/v1/chat/completions'])(
  'keeps the provider available to everybody during eighty calls with a tool of that name to %s',
  async (path) => {
    upstream.play('claude', { packets: PACKETS['a tool with that name']!, pauseMs: 0 });
    const attacks = await Promise.all(
      Array.from({ length: 80 }, (_, call) => ask(path, `attacker-${call % 4}`)),
    );
    expect(attacks.filter((text) => !text.startsWith('200 '))).toEqual([]);
    const text = start({ type: 'text', text: 'hello' });
    upstream.play('claude', { packets: [START, text, CLOSE, ending('end_turn'), STOP] });
    for (const account of ['other', 'attacker-1']) {
      for (const endpoint of ['/v1/messages', '/api/v1/chat/completions']) {
        expect(await ask(endpoint, account)).toMatch(/^200 [\s\S]*hello/);
        expect(gateway.ledger.last).toMatchObject({ status: 'completed', attempts: [{ outcome: 'ok' }] });
      }
    }
  },
);

test('ends the stream even when other events follow the final one in its packet, and does not read those', async () => {
  const garbage = 'data: {broken\n\n';
  const text = start({ type: 'text', text: 'hello' });
  upstream.play('claude', { packets: [START + text + CLOSE + ending('end_turn') + STOP + garbage] });
  expect(await ask('/v1/messages')).toContain('event: message_stop');
  expect(gateway.ledger.last).toMatchObject({ status: 'completed' });
});

test('treats an unknown stop reason as a normal end and logs it', async () => {
  const text = start({ type: 'text', text: 'hello' });
  upstream.play('claude', { packets: [START + text + CLOSE + ending('worn_out') + STOP] });
  warnings.length = 0;
  expect(await ask('/v1/messages')).toContain('"stop_reason":"end_turn"');
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([{ word: 'worn_out', provider: 'claude' }]);
});
