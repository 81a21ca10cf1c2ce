import { responsesRefusal } from '../factories/responses-refusal.ts';
import type { Fault, UpstreamProtocol, UpstreamRequest } from '../factories/upstream-server.ts';
import {
  CACHED_SHARE,
  event,
  nextTurn,
  outputTokensOf,
  type Seen,
  type Turn,
  textOf,
  tokensOf,
} from './scripted-turn.ts';

/** Its reasoning before a tool call, which the client must return with the tool's result. */
export const SEALED_THOUGHT = 'gAAAA-sealed-by-upstream';

/** The scripted model over OpenAI's Responses, with encrypted reasoning. */
export const responsesModel: UpstreamProtocol = {
  refusal: (request) => responsesRefusal(request) ?? lostThought(request.body.input),
  answer({ body }) {
    const turn = nextTurn(seenInResponses(body));
    return responseShell(body, responsesItems(turn), turn);
  },
  frames({ body }) {
    const turn = nextTurn(seenInResponses(body));
    const items = responsesItems(turn);
    let sequence_number = 0;
    const numbered = (type: string, members: object) =>
      event({ type, ...members, sequence_number: sequence_number++ });
    return [
      numbered('response.created', {
        response: { ...responseShell(body, [], turn), status: 'in_progress', usage: null },
      }),
      ...items.flatMap((item, output_index) => [
        numbered('response.output_item.added', { output_index, item: opened(item) }),
        ...('content' in item
          ? [
              numbered('response.output_text.delta', {
                ...{ item_id: item.id, output_index, content_index: 0 },
                delta: textOf(turn),
              }),
            ]
          : []),
        numbered('response.output_item.done', { output_index, item }),
      ]),
      numbered('response.completed', { response: responseShell(body, items, turn) }),
    ];
  },
  errorBody: (fault: Fault) => ({ error: { message: fault, type: 'server_error', code: null, param: null } }),
  errorFrame: () => event({ type: 'error', code: 'server_error', message: 'broken' }),
};

interface ResponsesItem {
  readonly id: string;
  readonly type: string;
  readonly content?: readonly object[];
}

function seenInResponses(body: UpstreamRequest['body']): Seen {
  return {
    tools: (body.tools ?? []).map((tool: { name: string }) => tool.name),
    said: JSON.stringify(body.input),
    toolResults: [body.input].flat().filter(({ type }: ResponsesItem) => type === 'function_call_output')
      .length,
  };
}

/** Returns OpenAI's error for a function call with an id that comes back without the reasoning that led to it. */
function lostThought(input: unknown): string | undefined {
  const items = [input].flat() as (ResponsesItem & { encrypted_content?: string })[];
  const named = items.filter(({ type, id }) => type === 'function_call' && id !== undefined).length;
  const thoughts = items.filter(({ encrypted_content }) => encrypted_content === SEALED_THOUGHT).length;
  return named > thoughts
    ? 'an item of type function_call was provided without its required reasoning item'
    : undefined;
}

function responsesItems(turn: Turn): ResponsesItem[] {
  if (turn.kind === 'text') {
    const content = [{ type: 'output_text', text: turn.text, annotations: [], logprobs: [] }];
    const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content };
    return [message];
  }
  const thought = { id: `rs_${turn.id}`, type: 'reasoning', summary: [], encrypted_content: SEALED_THOUGHT };
  const called = { call_id: turn.id, name: turn.tool, arguments: JSON.stringify(turn.input) };
  return [
    thought,
    { id: `fc_${turn.id}`, type: 'function_call', status: 'completed', ...called } as object & ResponsesItem,
  ];
}

function opened(item: ResponsesItem): object {
  return { ...item, ...('content' in item ? { status: 'in_progress', content: [] } : {}) };
}

function responseShell(body: UpstreamRequest['body'], output: readonly object[], turn: Turn): object {
  const input_tokens = tokensOf(body);
  const output_tokens = outputTokensOf(turn);
  const usage = {
    ...{ input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
    input_tokens_details: { cached_tokens: Math.floor(input_tokens * CACHED_SHARE) },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const head = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: body.model };
  return { ...head, error: null, incomplete_details: null, output, store: false, usage };
}
