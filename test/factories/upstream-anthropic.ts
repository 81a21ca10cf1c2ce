import { anthropicRefusal } from './anthropic-refusal.ts';
import { spoken } from './spoken-words.ts';
import {
  type Fault,
  type Script,
  type UpstreamProtocol,
  type UpstreamRequest,
  UpstreamServer,
} from './upstream-server.ts';

/** Input tokens that this upstream reports for any request, without cached ones. */
export const ANTHROPIC_INPUT_TOKENS = 20;

export function startAnthropicUpstream(): Promise<UpstreamServer> {
  return new UpstreamServer(anthropicProtocol).start();
}

const anthropicProtocol: UpstreamProtocol = {
  refusal: anthropicRefusal,
  answer(request, script) {
    if (script.fault === 'no_message') {
      return { id: 'msg_upstream', type: 'message', usage: usageOf(request, script) };
    }
    const { blocks, stopReason, sequence } = plan(request, script);
    return {
      id: 'msg_upstream',
      type: 'message',
      role: 'assistant',
      model: request.body.model,
      content: blocks,
      stop_reason: stopReason,
      stop_sequence: sequence,
      container: null,
      ...(script.fault === 'no_usage' ? {} : { usage: usageOf(request, script) }),
    };
  },
  frames(request, script) {
    const { blocks, words, stopReason, sequence } = plan(request, script);
    const usage = { ...usageOf(request, script), output_tokens: 1 };
    const noUsage = script.fault === 'no_usage';
    const message = {
      id: 'msg_upstream',
      type: 'message',
      role: 'assistant',
      model: request.body.model,
      content: [],
    };
    const shell = { ...message, stop_reason: null, stop_sequence: null, ...(noUsage ? {} : { usage }) };
    const closing = noUsage ? {} : { usage: { output_tokens: outputTokens(request, script) } };
    return [
      event({ type: 'message_start', message: shell }),
      event({ type: 'ping' }),
      ...blocks.flatMap((block, index) => blockFrames(block, index, words)),
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason, stop_sequence: sequence },
        ...closing,
      }),
      event({ type: 'message_stop' }),
    ];
  },
  errorBody(fault: Fault) {
    const message =
      fault === 'too_long' ? 'prompt is too long: 99 tokens > 9 maximum' : 'upstream secret sk-upstream-key';
    const types: Partial<Record<Fault, string>> = {
      rate_limit: 'rate_limit_error',
      bad_request: 'invalid_request_error',
      too_long: 'invalid_request_error',
      overloaded: 'overloaded_error',
    };
    return { type: 'error', error: { type: types[fault] ?? 'api_error', message } };
  },
  errorFrame: () => event({ type: 'error', error: { type: 'overloaded_error', message: 'upstream secret' } }),
};

type Block = { type: string; [member: string]: unknown };

function blockFrames(block: Block, index: number, words: readonly string[]): string[] {
  const start = (content_block: object) => event({ type: 'content_block_start', index, content_block });
  const delta = (body: object) => event({ type: 'content_block_delta', index, delta: body });
  const stop = event({ type: 'content_block_stop', index });
  switch (block.type) {
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    case 'tool_use': {
      const text = JSON.stringify(block.input);
      return [
        start({ ...block, input: {} }),
        delta({ type: 'input_json_delta', partial_json: '' }),
        delta({ type: 'input_json_delta', partial_json: text.slice(0, 5) }),
        delta({ type: 'input_json_delta', partial_json: text.slice(5) }),
        stop,
      ];
    }
    default:
      return [
        start({ type: 'text', text: '' }),
        ...words.map((word) => delta({ type: 'text_delta', text: word })),
        stop,
      ];
  }
}

function plan(request: UpstreamRequest, script: Script) {
  const { body } = request;
  const { words, end, sequence } = spoken(script, body.max_tokens, body.stop_sequences ?? []);
  const last = JSON.stringify(body.messages.at(-1));
  const wantsTool = body.tools && body.tool_choice?.type !== 'none' && !last.includes('"tool_result"');
  const images = JSON.stringify(body.messages).match(/"type":"image"/g)?.length ?? 0;
  const said = images > 0 ? [`${images} image: `, ...words] : words;
  const thinking = script.reasoning
    ? [{ type: 'thinking', thinking: script.reasoning, signature: 'signed-by-upstream' }]
    : [];
  const cities = last.includes('both') ? ['Paris', 'Oslo'] : ['Paris'];
  const wanted = script.call
    ? [script.call]
    : cities.map((city) => ({ name: body.tools?.[0].name, arguments: { city } }));
  const calls = wanted.map((call, index) => ({
    type: 'tool_use',
    id: `toolu_${index + 1}`,
    name: call.name,
    input: call.arguments,
  }));
  const text = said.length > 0 ? [{ type: 'text', text: said.join('') }] : [];
  const blocks: Block[] = [...thinking, ...(wantsTool ? calls : text)];
  const reasons = { stop: 'end_turn', length: 'max_tokens', sequence: 'stop_sequence' };
  const stopReason = script.refusal ? 'refusal' : wantsTool ? 'tool_use' : reasons[end];
  return { blocks, words: said, stopReason, sequence };
}

function outputTokens(request: UpstreamRequest, script: Script): number {
  const { blocks, words } = plan(request, script);
  const calls = blocks.filter((block) => block.type === 'tool_use').length;
  return calls > 0 ? calls * 12 : words.length;
}

function usageOf(request: UpstreamRequest, script: Script): object {
  if (script.fault === 'absurd_usage') {
    return { input_tokens: 9e12, output_tokens: 9e12 };
  }
  if (script.fault === 'negative_usage') {
    return { input_tokens: -5, output_tokens: -1 };
  }
  return {
    input_tokens: ANTHROPIC_INPUT_TOKENS,
    output_tokens: outputTokens(request, script),
    cache_read_input_tokens: script.cacheRead,
    cache_creation_input_tokens: script.cacheWrite,
  };
}

function event(body: { type: string; [member: string]: unknown }): string {
  return `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
}
