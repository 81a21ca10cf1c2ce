import { createChatReader, readChatAnswer } from './chat-reader.ts';
import { failureOfError } from './classify-failure.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import type { ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsage } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { readChatUsage } from './usage-reading.ts';

/** Format of chat `reasoning_details` that hold OpenAI's encrypted reasoning. The name is the one OpenRouter's clients know. */
export const ENCRYPTED_REASONING = 'openai-responses-v1';

/**
 * Converts a whole response to a normalized chat completion, with its encrypted reasoning marked by `origin`. Throws
 * {@link ProviderFailure} (`malformed` if it is not a response) with the usage that it reports.
 */
export function readResponsesAnswer(wire: JsonObject, origin: string): ProviderAnswer {
  try {
    const finish = finishOf(wire);
    const message = messageOf(wholeItems(wire, new OutputItems(origin)));
    return readChatAnswer({ choices: [{ index: 0, message, finish_reason: finish }], usage: wire.usage });
  } catch (error) {
    throw withUsage(error, readChatUsage(wire.usage));
  }
}

/** Converts a whole response to stream events, for servers that send one although a stream was requested. */
export function responsesAnswerAsEvents(wire: JsonObject): string[] {
  return [JSON.stringify({ type: `response.${textOf(wire.status) || 'completed'}`, response: wire })];
}

/** Returns a reader that converts a streamed response to normalized chat chunks, marking reasoning as {@link readResponsesAnswer} does. */
export function createResponsesReader(origin: string): EventReader {
  return new ResponsesReader(origin);
}

/** Restores the encrypted reasoning of `origin` in a request's input and drops that of other origins, which this one cannot decrypt. */
export function inputOfOrigin(input: unknown, origin: string): unknown {
  if (!Array.isArray(input)) {
    return input;
  }
  const mark = `${origin}.`;
  return objectsOf(input).flatMap((item) => {
    if (item.type !== 'reasoning') {
      return [item];
    }
    const sealed = textOf(item.encrypted_content);
    return sealed.startsWith(mark) ? [{ ...item, encrypted_content: sealed.slice(mark.length) }] : [];
  });
}

class ResponsesReader implements EventReader {
  readonly #chat = createChatReader();
  readonly #items: OutputItems;
  #ended = false;

  constructor(origin: string) {
    this.#items = new OutputItems(origin);
  }

  readonly isComplete = () => this.#chat.isComplete();
  readonly isEnded = () => this.#ended;

  /** Ignores the `[DONE]` that some proxies add: this protocol ends with an event that holds the whole response. */
  done(): void {}

  read(event: JsonObject, parts: StreamPart[], name?: string): void {
    const type = textOf(event.type) || textOf(name);
    const [, ending] = END.exec(type) ?? [];
    if (type === 'error') {
      throw failureOfError(event);
    }
    if (ending === undefined) {
      this.#say(this.#items.piece(type, event), parts);
    } else {
      const response = objectOf(event.response);
      try {
        this.#readEnd({ ...response, status: response.status ?? ending }, parts);
      } catch (error) {
        throw withUsage(error, readChatUsage(response.usage));
      }
    }
  }

  finish(parts: StreamPart[]): void {
    this.#chat.finish(parts);
  }

  #readEnd(response: JsonObject, parts: StreamPart[]): void {
    const finish = finishOf(response);
    if (!this.#items.any) {
      this.#say(wholeItems(response, this.#items), parts);
    }
    const choice = { index: 0, delta: {}, finish_reason: finish };
    this.#chat.read({ choices: [choice], usage: response.usage }, parts);
    this.#ended = true;
  }

  #say(deltas: readonly JsonObject[], parts: StreamPart[]): void {
    for (const delta of deltas) {
      this.#chat.read({ choices: [{ index: 0, delta, finish_reason: null }] }, parts);
    }
  }
}

/** The events that end a stream. */
const END = /^response\.(completed|incomplete|failed|cancelled)$/;

/** What has been passed on of an item so far. */
interface SentParts {
  text?: boolean;
  call?: boolean;
  args?: boolean;
  sealed?: boolean;
  /** Index of the reasoning part passed on last. */
  thought?: unknown;
}

/**
 * Converts the output items of one response to chat deltas. An item arrives in pieces, and again as a whole when it is done: what came in
 * pieces is not repeated, and what came only as a whole is not lost.
 */
class OutputItems {
  /** By index in the output. */
  readonly #sent = new Map<unknown, SentParts>();
  readonly #origin: string;
  #thoughts = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  get any(): boolean {
    return this.#sent.size > 0;
  }

  piece(type: string, event: JsonObject): JsonObject[] {
    const { output_index: place, delta } = event;
    switch (type) {
      case 'response.output_item.added':
        return this.#begin(objectOf(event.item), place);
      case 'response.output_item.done':
        return this.whole(objectOf(event.item), place);
      case 'response.output_text.delta':
        this.#of(place).text = true;
        return [{ content: delta }];
      case 'response.refusal.delta':
        this.#of(place).text = true;
        return [{ refusal: delta }];
      case 'response.reasoning_summary_text.delta':
        return this.#think(place, textOf(delta), event.summary_index ?? 0);
      case 'response.reasoning_text.delta':
        return this.#think(place, textOf(delta), event.content_index ?? 0);
      case 'response.function_call_arguments.delta':
        this.#of(place).args = true;
        return [{ tool_calls: [{ index: place, function: { arguments: delta } }] }];
      case 'response.custom_tool_call_input.delta':
        this.#of(place).args = true;
        return [{ tool_calls: [{ index: place, custom: { input: delta } }] }];
      default:
        // the other events repeat content, or are about tools that were not requested
        return [];
    }
  }

  /** Returns the deltas of an item that have not been passed on yet. */
  whole(item: JsonObject, place: unknown): JsonObject[] {
    const sent = this.#of(place);
    switch (item.type) {
      case 'message':
        if (sent.text) {
          return [];
        }
        sent.text = true;
        return objectsOf(item.content).map(({ text, refusal }) => ({ content: text, refusal }));
      case 'reasoning':
        return this.#wholeThought(item, place, sent);
      case 'function_call':
      case 'custom_tool_call':
        if (sent.args) {
          return [];
        }
        sent.call = true;
        sent.args = true;
        return [callOf(item, place, true)];
      default:
        return [];
    }
  }

  #begin(item: JsonObject, place: unknown): JsonObject[] {
    const sent = this.#of(place);
    const isCall = item.type === 'function_call' || item.type === 'custom_tool_call';
    if (!isCall || sent.call) {
      return [];
    }
    sent.call = true;
    return [callOf(item, place, false)];
  }

  #wholeThought(item: JsonObject, place: unknown, sent: SentParts): JsonObject[] {
    const summary = objectsOf(item.summary);
    const texts = sent.thought === undefined ? (summary.length > 0 ? summary : objectsOf(item.content)) : [];
    const deltas = texts.flatMap(({ text }, part) => this.#think(place, textOf(text), part));
    const sealed = textOf(item.encrypted_content);
    if (sealed === '' || sent.sealed) {
      return deltas;
    }
    sent.sealed = true;
    const index = this.#thoughts;
    this.#thoughts += 1;
    const data = `${this.#origin}.${sealed}`;
    const detail = { type: 'reasoning.encrypted', data, format: ENCRYPTED_REASONING, index };
    return [...deltas, { reasoning_details: [detail] }];
  }

  /** Returns a reasoning delta; a new part starts a new paragraph. */
  #think(place: unknown, text: string, part: unknown): JsonObject[] {
    const sent = this.#of(place);
    const isNext = sent.thought !== undefined && sent.thought !== part;
    sent.thought = part;
    return [{ reasoning_content: isNext ? `\n\n${text}` : text }];
  }

  #of(place: unknown): SentParts {
    let sent = this.#sent.get(place);
    if (!sent) {
      sent = {};
      this.#sent.set(place, sent);
    }
    return sent;
  }
}

function callOf(item: JsonObject, place: unknown, isWhole: boolean): JsonObject {
  const { name, input, arguments: args } = item;
  const id = textOf(item.call_id) || textOf(item.id);
  const named =
    item.type === 'custom_tool_call'
      ? { custom: { name, input: isWhole ? input : '' } }
      : { function: { name, arguments: isWhole ? args : '' } };
  return { tool_calls: [{ index: place, id, ...named }] };
}

function wholeItems(response: JsonObject, items: OutputItems): JsonObject[] {
  if (!Array.isArray(response.output)) {
    throw new ProviderFailure('malformed');
  }
  return objectsOf(response.output).flatMap((item, index) => items.whole(item, index));
}

/** Merges deltas into a message. */
function messageOf(deltas: readonly JsonObject[]): JsonObject {
  const text = (name: string) => deltas.map((delta) => textOf(delta[name])).join('');
  const listed = (name: string) => deltas.flatMap((delta) => objectsOf(delta[name]));
  return {
    content: text('content'),
    refusal: text('refusal'),
    reasoning_content: text('reasoning_content'),
    reasoning_details: listed('reasoning_details'),
    tool_calls: listed('tool_calls'),
  };
}

/**
 * Returns chat's finish reason for a response. Throws {@link ProviderFailure} for one that failed, was canceled or is not done.
 */
function finishOf({ status, error, incomplete_details: details }: JsonObject): string {
  switch (status) {
    case 'failed':
      throw failureOfError(error);
    case 'incomplete':
      return textOf(objectOf(details).reason) || 'length';
    case undefined:
    case null:
    case 'completed':
      return 'stop';
    case 'cancelled':
      throw new ProviderFailure('interrupted');
    default:
      throw new ProviderFailure('malformed');
  }
}
