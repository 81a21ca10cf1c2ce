import { responsesRefusal } from './responses-refusal.ts';
import { spoken } from './spoken-words.ts';
import {
  type Fault,
  type Script,
  type UpstreamProtocol,
  type UpstreamRequest,
  UpstreamServer,
} from './upstream-server.ts';

/** Input tokens that this upstream reports for any request. */
const RESPONSES_INPUT_TOKENS = 20;

/** Starts a server that speaks OpenAI's Responses protocol and stores nothing. */
export function startResponsesUpstream(): Promise<UpstreamServer> {
  return new UpstreamServer(responsesProtocol).start();
}

// biome-ignore lint/suspicious/noExplicitAny: items of many shapes
type Json = any;

const responsesProtocol: UpstreamProtocol = {
  refusal: responsesRefusal,
  answer(request, script) {
    return script.fault === 'no_message'
      ? { id: 'resp_upstream', object: 'response', usage: usageOf(request, script) }
      : responseOf(request, script, plan(request, script).items);
  },
  frames(request, script) {
    const { items, words } = plan(request, script);
    const shell = { ...responseOf(request, script, []), status: 'in_progress', usage: null };
    const last = script.fault === 'no_message' ? { id: 'x' } : responseOf(request, script, items);
    let sequence_number = 0;
    const event = (type: string, members: object) => {
      const data = JSON.stringify({ type, ...members, sequence_number: sequence_number++ });
      return `event: ${type}\ndata: ${data}\n\n`;
    };
    return [
      event('response.created', { response: shell }),
      event('response.in_progress', { response: shell }),
      ...(script.fault === 'no_message' ? [] : items).flatMap((item, output_index) => [
        event('response.output_item.added', { output_index, item: opened(item) }),
        ...piecesOf(item, words).map(([type, members]) =>
          event(type, { item_id: item.id, output_index, ...members }),
        ),
        event('response.output_item.done', { output_index, item }),
      ]),
      event(`response.${String((last as Json).status ?? 'completed')}`, { response: last }),
    ];
  },
  errorBody(fault: Fault) {
    const code = fault === 'too_long' ? 'context_length_exceeded' : 'upstream_secret_code';
    return { error: { message: 'upstream secret sk-upstream-key', type: 'server_error', code, param: null } };
  },
  errorFrame: () =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', code: 'server_error', message: 'upstream secret', param: null, sequence_number: 9 })}\n\n`,
};

function opened(item: Json): Json {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    default:
      return { ...item, summary: [], encrypted_content: 'not yet' };
  }
}

function piecesOf(item: Json, words: readonly string[]): [type: string, members: object][] {
  switch (item.type) {
    case 'message': {
      const [part] = item.content;
      const kind = part.type === 'refusal' ? 'refusal' : 'output_text';
      const place = { content_index: 0 };
      return [
        ['response.content_part.added', { ...place, part: { type: part.type } }],
        ...words.map((delta): [string, object] => [`response.${kind}.delta`, { ...place, delta }]),
        [`response.${kind}.done`, { ...place, text: words.join('') }],
        ['response.content_part.done', { ...place, part }],
      ];
    }
    case 'function_call':
      return [
        ...halves(item.arguments).map((delta): [string, object] => [
          'response.function_call_arguments.delta',
          { delta },
        ]),
        ['response.function_call_arguments.done', { arguments: item.arguments }],
      ];
    case 'custom_tool_call':
      return [
        ...halves(item.input).map((delta): [string, object] => [
          'response.custom_tool_call_input.delta',
          { delta },
        ]),
        ['response.custom_tool_call_input.done', { input: item.input }],
      ];
    default:
      return item.summary.flatMap(({ text }: Json, summary_index: number): [string, object][] => [
        ['response.reasoning_summary_part.added', { summary_index }],
        ['response.reasoning_summary_text.delta', { summary_index, delta: text }],
        ['response.reasoning_summary_text.done', { summary_index, text }],
      ]);
  }
}

function responseOf(request: UpstreamRequest, script: Script, output: readonly Json[]): object {
  const cut = plan(request, script).end === 'length';
  return {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1,
    status: cut ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    model: request.body.model,
    output,
    store: false,
    ...(script.fault === 'no_usage' ? { usage: null } : { usage: usageOf(request, script) }),
  };
}

function plan(request: UpstreamRequest, script: Script) {
  const { body } = request;
  const items: Json[] = typeof body.input === 'string' ? [{ content: body.input }] : body.input;
  const { words: spokenWords, end } = spoken(script, body.max_output_tokens, []);
  const last = JSON.stringify(items.at(-1));
  const called = items.at(-1).type?.endsWith('_output');
  const offered: Json[] = body.tools ?? [];
  const tool = offered.find(({ name }) => name === script.call?.name) ?? offered[0];
  const wantsTool = tool && body.tool_choice !== 'none' && !called;
  const images = JSON.stringify(items).match(/"type":"input_image"/g)?.length ?? 0;
  const words = images > 0 ? [`${images} image: `, ...spokenWords] : spokenWords;
  const text = words.join('');
  const part = script.refusal
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
  const message = {
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [part],
  };
  const calls = (last.includes('both') ? ['Paris', 'Oslo'] : ['Paris']).map((city, index) => {
    const args: Json = script.call?.arguments ?? { city };
    const told = JSON.stringify(args);
    const head = {
      id: `fc_upstream_${index}`,
      call_id: `call_${index + 1}`,
      name: tool?.name,
      status: 'completed',
    };
    return tool?.type === 'custom'
      ? { ...head, type: 'custom_tool_call', input: args.input ?? told }
      : { ...head, type: 'function_call', arguments: told };
  });
  const sealed = body.include?.includes('reasoning.encrypted_content') ? 'gAAAA-sealed-by-upstream' : null;
  const thought = {
    id: 'rs_upstream',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: script.reasoning }],
    encrypted_content: sealed,
  };
  const said = words.length > 0 ? [message] : [];
  return {
    items: [...(script.reasoning ? [thought] : []), ...(wantsTool ? calls : said)],
    words,
    end: wantsTool ? 'stop' : end,
    calls: wantsTool ? calls.length : 0,
  };
}

function usageOf(request: UpstreamRequest, script: Script): object {
  if (script.fault === 'absurd_usage') {
    return { input_tokens: 9e12, output_tokens: 9e12, total_tokens: 18e12 };
  }
  if (script.fault === 'negative_usage') {
    return { input_tokens: -5, output_tokens: -1, total_tokens: -6 };
  }
  const { calls, words } = plan(request, script);
  const reasoning_tokens = script.reasoning === '' ? 0 : script.reasoning.split(' ').length;
  const output_tokens = (calls > 0 ? 12 * calls : words.length) + reasoning_tokens;
  return {
    input_tokens: RESPONSES_INPUT_TOKENS,
    input_tokens_details: { cached_tokens: script.cacheRead },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: RESPONSES_INPUT_TOKENS + output_tokens,
  };
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
