import { anthropicRefusal } from '../factories/anthropic-refusal.ts';
import {
  type Fault,
  type UpstreamProtocol,
  type UpstreamRequest,
  UpstreamServer,
} from '../factories/upstream-server.ts';
import { responsesModel } from './scripted-responses.ts';
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

/**
 * Starts providers that simulate a coding model: asked to correct a file, it reads the file, edits it, reads it again and reports success.
 * Each records its requests.
 */
export async function startScriptedModels(): Promise<
  Readonly<Record<'openai' | 'anthropic' | 'responses', UpstreamServer>>
> {
  const [openai, anthropic, responses] = await Promise.all([
    new UpstreamServer(chatModel).start(),
    new UpstreamServer(messagesModel).start(),
    new UpstreamServer(responsesModel).start(),
  ]);
  return { openai, anthropic, responses };
}

const chatModel: UpstreamProtocol = {
  answer({ body }) {
    const turn = nextTurn(seenInChat(body));
    const called = turn.kind === 'call' ? { content: null, tool_calls: [chatCall(turn)] } : undefined;
    const message = { role: 'assistant', ...(called ?? { content: textOf(turn) }) };
    return {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: body.model,
      choices: [{ index: 0, message, finish_reason: called ? 'tool_calls' : 'stop' }],
      usage: chatUsage(body, turn),
    };
  },
  frames({ body }) {
    const turn = nextTurn(seenInChat(body));
    const frame = (delta: object, finish: string | null = null) =>
      data({ id: 'chatcmpl-1', choices: [{ index: 0, delta, finish_reason: finish }] });
    const delta =
      turn.kind === 'call' ? { tool_calls: [{ index: 0, ...chatCall(turn) }] } : { content: textOf(turn) };
    const usage = data({ id: 'chatcmpl-1', choices: [], usage: chatUsage(body, turn) });
    const finish = turn.kind === 'call' ? 'tool_calls' : 'stop';
    return [frame({ role: 'assistant' }), frame(delta), frame({}, finish), usage, 'data: [DONE]\n\n'];
  },
  errorBody: (fault: Fault) => ({ error: { message: fault, type: 'server_error' } }),
  errorFrame: () => data({ error: { message: 'broken', type: 'server_error' } }),
};

function seenInChat(body: UpstreamRequest['body']): Seen {
  return {
    tools: (body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name),
    said: JSON.stringify(body.messages),
    toolResults: body.messages.filter((message: { role: string }) => message.role === 'tool').length,
  };
}

function chatCall(turn: Turn & { kind: 'call' }): object {
  const called = { name: turn.tool, arguments: JSON.stringify(turn.input) };
  return { id: turn.id, type: 'function', function: called };
}

function chatUsage(body: UpstreamRequest['body'], turn: Turn): object {
  const input = tokensOf(body);
  const output = outputTokensOf(turn);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: Math.floor(input * CACHED_SHARE) },
  };
}

const messagesModel: UpstreamProtocol = {
  refusal: anthropicRefusal,
  answer({ body }) {
    const turn = nextTurn(seenInMessages(body));
    return {
      ...messageShell(body, turn),
      content: [messagesBlock(turn)],
      stop_reason: turn.kind === 'call' ? 'tool_use' : 'end_turn',
      usage: { ...messagesInputUsage(body), output_tokens: outputTokensOf(turn) },
    };
  },
  frames({ body }) {
    const turn = nextTurn(seenInMessages(body));
    const block = messagesBlock(turn);
    const isCall = turn.kind === 'call';
    const started = isCall ? { ...block, input: {} } : { type: 'text', text: '' };
    const delta = isCall
      ? { type: 'input_json_delta', partial_json: JSON.stringify(turn.input) }
      : { type: 'text_delta', text: turn.text };
    return [
      event({ type: 'message_start', message: messageShell(body, turn) }),
      event({ type: 'content_block_start', index: 0, content_block: started }),
      event({ type: 'content_block_delta', index: 0, delta }),
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: outputTokensOf(turn) },
      }),
      event({ type: 'message_stop' }),
    ];
  },
  errorBody: (fault: Fault) => ({ type: 'error', error: { type: 'api_error', message: fault } }),
  errorFrame: () => event({ type: 'error', error: { type: 'overloaded_error', message: 'broken' } }),
};

function seenInMessages(body: UpstreamRequest['body']): Seen {
  const blocks = body.messages.flatMap(({ content }: { content: unknown }) =>
    Array.isArray(content) ? content : [],
  );
  return {
    tools: (body.tools ?? []).map((tool: { name: string }) => tool.name),
    said: JSON.stringify(body.messages),
    toolResults: blocks.filter((block: { type: string }) => block.type === 'tool_result').length,
  };
}

function messageShell(body: UpstreamRequest['body'], turn: Turn): object {
  const usage = { ...messagesInputUsage(body), output_tokens: Math.min(1, outputTokensOf(turn)) };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [] };
  return { ...message, stop_reason: null, stop_sequence: null, usage };
}

function messagesBlock(turn: Turn): { type: string } {
  return turn.kind === 'call'
    ? ({ type: 'tool_use', id: turn.id, name: turn.tool, input: turn.input } as { type: string })
    : ({ type: 'text', text: turn.text } as { type: string });
}

function messagesInputUsage(body: UpstreamRequest['body']): object {
  const input = tokensOf(body);
  const cached = Math.floor(input * CACHED_SHARE);
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
  };
}

function data(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}
