import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { eventually } from '../factories/eventually.ts';
import { UNTRUSTED } from '../factories/untrusted-certificate.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import { startResponsesUpstream } from '../factories/upstream-responses.ts';
import type { Fault, UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

const TIMEOUTS = { connect_ms: 300, first_byte_ms: 250, idle_ms: 200, total_ms: 20_000 };

let upstreams: Record<'openai' | 'anthropic' | 'responses', UpstreamServer>;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeEach(async () => {
  upstreams = {
    openai: await startOpenAiUpstream(),
    anthropic: await startAnthropicUpstream(),
    responses: await startResponsesUpstream(),
  };
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: upstreams.openai.url, timeouts: TIMEOUTS },
      { id: 'anthropic', protocol: 'anthropic', base_url: upstreams.anthropic.url, timeouts: TIMEOUTS },
      { id: 'responses', protocol: 'responses', base_url: upstreams.responses.url, timeouts: TIMEOUTS },
      { id: 'nowhere', protocol: 'openai', base_url: 'http://127.0.0.1:1/v1', timeouts: TIMEOUTS },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }], { maxOutputTokens: 20 }),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], { maxOutputTokens: 20 }),
      model('to/responses', [{ provider: 'responses', model: 'gpt' }], { maxOutputTokens: 20 }),
      model('to/long', [{ provider: 'openai', model: 'gpt' }], { maxOutputTokens: 100 }),
      model('to/nowhere', [{ provider: 'nowhere', model: 'x' }]),
      model('to/both', [
        { provider: 'openai', model: 'gpt' },
        { provider: 'anthropic', model: 'claude' },
      ]),
      model('to/missing', [
        { provider: 'gone', model: 'x' },
        { provider: 'anthropic', model: 'claude' },
      ]),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

afterEach(async () => {
  const held = gateway?.ledger.held ?? 0n;
  const stillMetered = gateway?.ledger.metered.size ?? 0;
  await gateway?.close();
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
  expect({ held, stillMetered }).toEqual({ held: 0n, stillMetered: 0 });
});

function chat(modelId: string, stream: boolean): Promise<unknown> {
  const messages = [{ role: 'user' as const, content: 'hello' }];
  return stream
    ? openai.chat.completions.stream({ model: modelId, messages, stream: true }).finalChatCompletion()
    : openai.chat.completions.create({ model: modelId, messages });
}

function failed(code: string) {
  return { status: 'failed', charge: { amount: 0n }, error: { code }, usageSource: 'none' };
}

/** What the client sees before anything was delivered: a plain HTTP error. */
const BEFORE: [Fault, number, string, number][] = [
  ['rate_limit', 429, 'provider_rate_limited', 2],
  ['server_error', 502, 'provider_error', 2],
  ['overloaded', 503, 'provider_overloaded', 2],
  ['unauthorized', 502, 'provider_error', 1],
  ['bad_request', 400, 'invalid_request', 1],
  ['too_long', 400, 'context_length_exceeded', 1],
  ['hang_before_headers', 504, 'provider_timeout', 1],
  ['hang_after_headers', 504, 'provider_timeout', 1],
  ['reset_before_headers', 502, 'provider_error', 2],
  ['garbage', 502, 'provider_error', 1],
  ['error_in_200', 502, 'provider_error', 2],
];

test('waits for a JSON answer of 20 tokens a second', async () => {
  upstreams.openai.reset({ words: Array.from({ length: 50 }, () => ' word'), tokenDelayMs: 70 });
  await chat('to/long', false);
  expect(gateway.ledger.last).toMatchObject({ status: 'completed', usageSource: 'provider' });
});

describe.each(['openai', 'anthropic', 'responses'] as const)('upstream %s', (protocol) => {
  describe.each([false, true])('stream: %s', (stream) => {
    test.each(BEFORE)('%s → %i %s after %i calls', async (fault, status, code, calls) => {
      upstreams[protocol].reset({ fault });
      const error = await chat(`to/${protocol}`, stream).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OpenAI.APIError);
      expect(error).toMatchObject({ status, code });
      expect(JSON.stringify(error)).not.toContain('sk-upstream');
      // errors in the request are reported in the provider's words, all others in ours
      expect(JSON.stringify(error).includes('upstream secret')).toBe(
        fault === 'bad_request' || (fault === 'too_long' && protocol !== 'anthropic'),
      );
      expect(upstreams[protocol].requests).toHaveLength(calls);
      expect(gateway.ledger.last).toMatchObject(failed(code));
      expect(gateway.ledger.last.attempts).toHaveLength(calls);
      expect(gateway.ledger.last.latencyMs).toBeLessThan(3_000);
    });

    test('costs one retry and one charge when a fault passes', async () => {
      upstreams[protocol].reset({ fault: 'server_error', faultCalls: 1 });
      await chat(`to/${protocol}`, stream);
      expect(upstreams[protocol].requests).toHaveLength(2);
      expect(gateway.ledger.settlements).toHaveLength(1);
      expect(gateway.ledger.last.attempts.map((attempt) => attempt.outcome)).toEqual(['failed', 'ok']);
      expect(gateway.ledger.last.charge.amount).toBe(38_000n);
    });
  });

  test.each<[Fault, string]>([
    ['hang_mid_stream', 'provider_timeout'],
    ['reset_mid_stream', 'provider_error'],
    ['garbage_mid_stream', 'provider_error'],
    ['cut_stream', 'provider_error'],
  ])(
    '%s: reports it in the stream, charges our own timeout, and waives a failure of the provider',
    async (fault, code) => {
      upstreams[protocol].reset({ fault });
      const error = await chat(`to/${protocol}`, true).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OpenAI.APIError);
      expect(error).toMatchObject({ code });
      const { charge, due, waived } = gateway.ledger.last;
      expect(gateway.ledger.last).toMatchObject({ status: 'failed', error: { code } });
      if (fault !== 'garbage_mid_stream') {
        expect(due).toBeGreaterThan(0n);
      }
      expect({ charged: charge.amount, waived }).toEqual(
        code === 'provider_timeout' ? { charged: due, waived: 0n } : { charged: 0n, waived: due },
      );
      expect(gateway.ledger.last.latencyMs).toBeLessThan(3_000);
    },
  );

  test.each<Fault>(['cut_stream', 'reset_mid_stream'])('fails on half a JSON answer (%s)', async (fault) => {
    upstreams[protocol].reset({ fault });
    await expect(chat(`to/${protocol}`, false)).rejects.toMatchObject({
      status: 502,
      code: 'provider_error',
    });
  });

  test.each([
    ['/api/v1/chat/completions', 'data: {"error":{"code":"provider_error"'],
    ['/v1/messages', 'event: error\ndata: {"type":"error","error":{"code":"provider_error"'],
  ])('ends a broken stream with an error frame and a broken connection (%s)', async (path, start) => {
    upstreams[protocol].reset({ fault: 'cut_stream' });
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: `to/${protocol}`,
        max_tokens: 20,
        stream: true,
        messages: [{ role: 'user', content: 'x' }],
      }),
    });
    expect(response.status).toBe(200);
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
      }
    })();
    await expect(reading).rejects.toThrow('terminated');
    expect(text.trimEnd().split('\n\n').at(-1)).toContain(start);
    expect(text.endsWith('\n\n')).toBe(true);
  });

  test('ends the messages stream with an error event on an error frame of the provider', async () => {
    upstreams[protocol].reset({ fault: 'error_mid_stream' });
    const params = {
      model: `to/${protocol}`,
      max_tokens: 20,
      messages: [{ role: 'user' as const, content: 'x' }],
    };
    const stream = anthropic.messages.stream(params);
    const error = await stream.finalMessage().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Anthropic.APIError);
    expect(String(error)).toMatch(/provider_(error|overloaded)/);
    expect(String(error)).not.toContain('secret');
    expect(gateway.ledger.last).toMatchObject({ status: 'failed', charge: { amount: 0n } });
  });

  test('one byte at a time is slow but fine', async () => {
    upstreams[protocol].reset({ fault: 'slow_bytes', words: ['héllo', ' wörld'] });
    const answer = (await chat(`to/${protocol}`, true)) as OpenAI.ChatCompletion;
    expect(answer.choices[0]?.message.content).toBe('héllo wörld');
    expect(gateway.ledger.last).toMatchObject({ status: 'completed', usageSource: 'provider' });
  });

  test.each<Fault>(['no_usage', 'negative_usage'])('%s: counts usage itself', async (fault) => {
    for (const stream of [false, true]) {
      upstreams[protocol].reset({ fault });
      await chat(`to/${protocol}`, stream);
      expect(gateway.ledger.last).toMatchObject({ status: 'completed', usageSource: 'counted' });
      expect(gateway.ledger.last.usage.outputTokens).toBe(9);
      expect(gateway.ledger.last.usage.inputTokens).toBeGreaterThan(0);
    }
  });

  test('absurd usage is cut to what is possible, and never above the hold', async () => {
    upstreams[protocol].reset({ fault: 'absurd_usage' });
    await chat(`to/${protocol}`, false);
    expect(gateway.ledger.last.usage.inputTokens).toBeLessThan(100);
    expect(gateway.ledger.last.usage.outputTokens).toBe(20);
    expect(gateway.ledger.last.charge.amount).toBeLessThanOrEqual(gateway.ledger.requests.at(-1)!.amount);
    expect(gateway.ledger.last.shortfall).toBe(0n);
  });

  test('charges an answer without text what its provider reports', async () => {
    for (const stream of [false, true]) {
      upstreams[protocol].reset({ fault: 'empty' });
      await chat(`to/${protocol}`, stream);
      expect(gateway.ledger.last).toMatchObject({ status: 'completed', charge: { amount: 20_000n } });
    }
  });

  test('stops a provider that ignores its cap', async () => {
    const words = Array.from({ length: 500 }, () => ' word');
    upstreams[protocol].reset({ fault: 'ignores_cap', words, tokenDelayMs: 1 });
    const answer = (await chat(`to/${protocol}`, true)) as OpenAI.ChatCompletion;
    expect(answer.choices[0]?.finish_reason).toBe('length');
    expect(gateway.ledger.last.usage.outputTokens).toBeLessThan(60);
    expect(gateway.ledger.last.finishReason).toBe('length');
    await eventually(async () => upstreams[protocol].last.abortedAt !== undefined);
  });
});

test.each([false, true])('falls back inside one hold (stream: %s)', async (stream) => {
  upstreams.openai.reset({ fault: 'overloaded' });
  const answer = (await chat('to/both', stream)) as OpenAI.ChatCompletion;
  expect(answer.choices[0]?.message.content).toContain('quick brown');
  expect(gateway.ledger.settlements).toHaveLength(1);
  expect(gateway.ledger.last).toMatchObject({ status: 'completed', provider: 'anthropic' });
  expect(gateway.ledger.last.attempts.map(({ provider, outcome }) => `${provider} ${outcome}`)).toEqual([
    'openai overloaded',
    'openai overloaded',
    'anthropic ok',
  ]);
});

test('does not try the second provider with a request the first one rejects', async () => {
  upstreams.openai.reset({ fault: 'bad_request' });
  await expect(chat('to/both', false)).rejects.toMatchObject({ status: 400 });
  expect(upstreams.anthropic.requests).toHaveLength(0);
});

test('skips a provider missing from the configuration', async () => {
  await chat('to/missing', false);
  expect(gateway.ledger.last.attempts.map((attempt) => attempt.outcome)).toEqual(['not_configured', 'ok']);
});

test('reports a refused connection as a provider error', async () => {
  await expect(chat('to/nowhere', false)).rejects.toMatchObject({ status: 502, code: 'provider_error' });
});

test('reports an untrusted certificate as a provider error: the operator sees which one, and nothing is sent', async () => {
  let requests = 0;
  const untrusted = createServer(UNTRUSTED, () => {
    requests += 1;
  });
  await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve));
  const { port } = untrusted.address() as AddressInfo;
  const base_url = `https://localhost:${port}/v1`;
  const behindTls = await Gateway.start({
    providers: [{ id: 'untrusted', protocol: 'openai', base_url, timeouts: TIMEOUTS }],
    models: [model('to/untrusted', [{ provider: 'untrusted', model: 'x' }])],
  });
  const client = new OpenAI({ apiKey: 'k', baseURL: `${behindTls.url}/api/v1`, maxRetries: 0 });
  try {
    await expect(
      client.chat.completions.create({ model: 'to/untrusted', messages: [{ role: 'user', content: 'hi' }] }),
    ).rejects.toMatchObject({ status: 502, code: 'provider_error' });
    const [attempt] = behindTls.ledger.last.attempts;
    // newer Node versions append a hint
    expect(attempt).toMatchObject({
      outcome: 'unreachable',
      said: expect.stringMatching(/^self-signed certificate/),
    });
    expect(requests).toBe(0);
  } finally {
    await behindTls.close();
    await new Promise((resolve) => untrusted.close(resolve));
  }
});

test('honors Retry-After up to 5 s and passes it on', async () => {
  upstreams.openai.reset({ fault: 'rate_limit', retryAfter: '0.3', faultCalls: 1 });
  const startedAt = Date.now();
  await chat('to/openai', false);
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(300);
  upstreams.openai.reset({ fault: 'rate_limit', retryAfter: '60' });
  const error = await chat('to/openai', false).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ status: 429 });
  expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('60');
  expect(upstreams.openai.requests).toHaveLength(1);
});

test('a storm of 429 is met with at most a tenth more calls', async () => {
  upstreams.openai.reset({ fault: 'rate_limit' });
  const calls = Array.from({ length: 200 }, () => chat('to/openai', false).catch(() => undefined));
  await Promise.all(calls);
  expect(upstreams.openai.requests.length).toBeLessThanOrEqual(220);
  expect(gateway.ledger.settlements).toHaveLength(200);
});

test('a call that the model garbled is tried again, and never pauses the route', async () => {
  upstreams.openai.reset({ fault: 'garbled', faultCalls: 1 });
  await chat('to/openai', false);
  expect(gateway.ledger.last.attempts.map((attempt) => attempt.outcome)).toEqual(['garbled', 'ok']);
  upstreams.openai.reset({ fault: 'garbled' });
  for (let call = 0; call < 25; call += 1) {
    const sent = upstreams.openai.requests.length;
    await expect(chat('to/openai', false)).rejects.toMatchObject({ status: 502, code: 'provider_error' });
    expect(upstreams.openai.requests.length).toBeGreaterThan(sent);
  }
});

test('stops using a failing provider, then probes it', async () => {
  upstreams.openai.reset({ fault: 'server_error' });
  // until one is not sent: after that every tenth is a try, and retries decide after how many calls the count begins
  let isLeftAlone = false;
  for (let call = 0; call < 25 && !isLeftAlone; call += 1) {
    isLeftAlone = await chat('to/openai', false).then(
      () => false,
      (error: { code?: string }) => error.code === 'provider_overloaded',
    );
  }
  expect(isLeftAlone).toBe(true);
  const reached = upstreams.openai.requests.length;
  expect(reached).toBeLessThan(28);
  await expect(chat('to/openai', false)).rejects.toMatchObject({ status: 503, code: 'provider_overloaded' });
  expect(upstreams.openai.requests).toHaveLength(reached);
  upstreams.openai.reset();
  // rejected without being sent until a probe is due
  await eventually(() => chat('to/openai', false));
  await chat('to/openai', false);
  expect(upstreams.openai.requests).toHaveLength(2);
});
