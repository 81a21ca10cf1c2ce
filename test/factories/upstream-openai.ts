import { openAiRefusal } from './openai-refusal.ts';
import { spoken } from './spoken-words.ts';
import {
  type Fault,
  type Script,
  type UpstreamProtocol,
  type UpstreamRequest,
  UpstreamServer,
} from './upstream-server.ts';

/** Input tokens that this upstream reports for any request. */
export const OPENAI_INPUT_TOKENS = 20;

export function startOpenAiUpstream(): Promise<UpstreamServer> {
  return new UpstreamServer(openAiProtocol).start();
}

const openAiProtocol: UpstreamProtocol = {
  refusal: openAiRefusal,
  answer(request, script) {
    if (script.fault === 'no_message') {
      return { id: 'chatcmpl-upstream', choices: [], usage: usageOf(request, script) };
    }
    const { calls, words, finish, seen } = plan(request, script);
    const text = seen + words.join('');
    const message = calls
      ? { role: 'assistant', content: null, tool_calls: calls }
      : {
          role: 'assistant',
          content: script.refusal ? null : text,
          ...(script.refusal ? { refusal: text } : {}),
          ...(script.reasoning ? { reasoning_content: script.reasoning } : {}),
        };
    return {
      id: 'chatcmpl-upstream',
      object: 'chat.completion',
      created: 1,
      model: request.body.model,
      choices: [
        {
          index: 0,
          message,
          finish_reason: finish,
          logprobs: request.body.logprobs ? { content: [] } : null,
        },
      ],
      system_fingerprint: 'fp_44709d6fcb',
      ...(script.fault === 'no_usage' ? {} : { usage: usageOf(request, script) }),
    };
  },
  frames(request, script) {
    if (script.fault === 'no_message') {
      return [data({ id: 'x', choices: [], usage: usageOf(request, script) }), 'data: [DONE]\n\n'];
    }
    const { calls, words, finish, seen } = plan(request, script);
    const frame = (delta: object, finishReason: string | null = null) =>
      data({
        id: 'chatcmpl-upstream',
        object: 'chat.completion.chunk',
        created: 1,
        model: request.body.model,
        system_fingerprint: 'fp_44709d6fcb',
        choices: [{ index: 0, delta, finish_reason: finishReason }],
      });
    const key = script.refusal ? 'refusal' : 'content';
    const body = calls
      ? calls.flatMap((call, index) => [
          frame({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] }),
          ...halves(call.function.arguments).map((part) =>
            frame({ tool_calls: [{ index, function: { arguments: part } }] }),
          ),
        ])
      : [...(seen ? [frame({ content: seen })] : []), ...words.map((word) => frame({ [key]: word }))];
    const reasoning = script.reasoning ? [frame({ reasoning_content: script.reasoning })] : [];
    const wanted = request.body.stream_options?.include_usage && script.fault !== 'no_usage';
    const usage = wanted ? [data({ id: 'x', choices: [], usage: usageOf(request, script) })] : [];
    const opening = frame({ role: 'assistant', content: '' });
    return [opening, ...reasoning, ...body, frame({}, finish), ...usage, 'data: [DONE]\n\n'];
  },
  errorBody(fault: Fault) {
    if (fault === 'content_refused') {
      // as xAI says it
      return { code: 'permission-denied', error: 'Content violates usage guidelines. ' };
    }
    if (fault === 'garbled') {
      // as Groq says it
      const failed = { type: 'invalid_request_error', code: 'tool_use_failed', failed_generation: '<f>' };
      return { error: { message: 'Failed to call a function.', ...failed } };
    }
    const code = fault === 'too_long' ? 'context_length_exceeded' : 'upstream_secret_code';
    return { error: { message: 'upstream secret sk-upstream-key', type: 'server_error', code } };
  },
  errorFrame: () => data({ error: { message: 'upstream secret', type: 'server_error' } }),
};

interface Call {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

function plan(request: UpstreamRequest, script: Script) {
  const { body } = request;
  const stops = [body.stop ?? []].flat();
  const { words, end } = spoken(script, body.max_tokens ?? body.max_completion_tokens ?? 1e9, stops);
  const wantsTool = body.tools && body.tool_choice !== 'none' && body.messages.at(-1).role !== 'tool';
  const parallel = wantsTool && JSON.stringify(body.messages.at(-1)).includes('both');
  const cities = parallel ? ['Paris', 'Oslo'] : ['Paris'];
  const wanted = script.call
    ? [script.call]
    : cities.map((city) => ({ name: body.tools?.[0].function.name, arguments: { city } }));
  const calls: Call[] | undefined = wantsTool
    ? wanted.map((call, index) => ({
        id: `call_${index + 1}`,
        type: 'function' as const,
        function: { name: call.name, arguments: JSON.stringify(call.arguments) },
      }))
    : undefined;
  const images = body.messages
    .flatMap(({ content }: UpstreamRequest['body']) => content)
    .filter(isImage).length;
  const seen = images > 0 ? `${images} image: ` : '';
  const finish = calls ? 'tool_calls' : end === 'length' ? 'length' : 'stop';
  return { calls, words, finish, seen };
}

function isImage(part: { image_url?: { url: string } } | null | undefined): boolean {
  return /^(data:image\/png|https:)/.test(part?.image_url?.url ?? '');
}

function usageOf(request: UpstreamRequest, script: Script): object {
  if (script.fault === 'absurd_usage') {
    return { prompt_tokens: 9e12, completion_tokens: 9e12, total_tokens: 18e12 };
  }
  if (script.fault === 'negative_usage') {
    return { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 };
  }
  const { calls, words } = plan(request, script);
  const output = (calls ? 12 * calls.length : words.length) + reasoningTokens(script);
  return {
    prompt_tokens: OPENAI_INPUT_TOKENS,
    completion_tokens: output,
    total_tokens: OPENAI_INPUT_TOKENS + output,
    prompt_tokens_details: { cached_tokens: script.cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoningTokens(script) },
  };
}

function reasoningTokens(script: Script): number {
  return script.reasoning === '' ? 0 : script.reasoning.split(' ').length;
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function data(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}
