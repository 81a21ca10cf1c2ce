import { newUuid } from '../lib/uuid.ts';
import { ApiError, apiPath, request } from './client.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ChatOptions {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  /** Maximum cost of the call, as plain decimal USD. */
  readonly maxCost: string;
}

export interface ChatEvents {
  /** Called with the id of the generation as soon as the answer starts. */
  onBegin(generation: string): void;
  onText(text: string): void;
}

interface Chunk {
  readonly error?: { readonly code?: string; readonly message?: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}

/** Streams one answer. Throws ApiError, also when the stream is interrupted, and DOMException AbortError when it is stopped. */
export async function streamChat(wish: ChatOptions, events: ChatEvents, signal: AbortSignal): Promise<void> {
  const response = await begin(wish, signal);
  events.onBegin(response.headers.get('x-generation-id') ?? '');
  let isOver = false;
  try {
    for await (const data of dataOf(response)) {
      isOver ||= data === '[DONE]';
      if (!isOver) {
        take(JSON.parse(data) as Chunk, events);
      }
    }
  } catch (error) {
    // what a broken connection throws differs between browsers
    throw error instanceof TypeError ? lost() : error;
  }
  if (!isOver) {
    throw lost();
  }
}

/** A stream cannot be fetched again, so unlike after other lost answers, asking again is a new call. */
function lost(): ApiError {
  return new ApiError('The answer was lost.', { status: 0, code: 'answer_lost' });
}

async function begin(wish: ChatOptions, signal: AbortSignal): Promise<Response> {
  const sending = {
    body: {
      model: wish.model,
      messages: wish.messages,
      max_tokens: wish.maxTokens,
      ...(wish.temperature !== undefined && { temperature: wish.temperature }),
      stream: true,
    },
    headers: { 'x-max-cost': wish.maxCost, 'idempotency-key': newUuid() },
    signal,
  };
  try {
    return await request('POST', apiPath('/api/v1/chat/completions'), sending);
  } catch (error) {
    throw error instanceof ApiError && error.code === 'outcome_unknown' ? lost() : error;
  }
}

function take({ error, choices }: Chunk, events: ChatEvents): void {
  if (error) {
    throw new ApiError(error.message ?? 'The answer was interrupted.', {
      status: 502,
      code: error.code ?? 'provider_error',
    });
  }
  const text = choices?.[0]?.delta?.content;
  if (text) {
    events.onText(text);
  }
}

/** Yields the data of server-sent events, one line each as this service writes them. */
async function* dataOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((text) => text.startsWith('data: '))) {
      yield line.slice('data: '.length);
    }
  }
}
