import { createChatReader, readChatAnswer } from './chat-reader.ts';
import { failureOfError } from './classify-failure.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import { OutputDeltas } from './output-deltas.ts';
import type { ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsageIfUnreadable } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { readChatUsage } from './usage-reading.ts';

/**
 * Converts a whole response to a normalized chat completion, with its encrypted reasoning marked by `origin`. Throws
 * {@link ProviderFailure} (`malformed` if it is not a response) with the usage that it reports.
 */
export function readResponsesAnswer(wire: JsonObject, origin: string): ProviderAnswer {
  try {
    const finish = finishOf(wire);
    const message = messageOf(outputOf(wire, new OutputDeltas(origin)));
    return readChatAnswer({ choices: [{ index: 0, message, finish_reason: finish }], usage: wire.usage });
  } catch (error) {
    throw withUsageIfUnreadable(error, readChatUsage(wire.usage));
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
  readonly #output: OutputDeltas;
  #ended = false;

  constructor(origin: string) {
    this.#output = new OutputDeltas(origin);
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
      this.#say(this.#output.piece(type, event), parts);
    } else {
      const response = objectOf(event.response);
      try {
        this.#readEnd({ ...response, status: response.status ?? ending }, parts);
      } catch (error) {
        throw withUsageIfUnreadable(error, readChatUsage(response.usage));
      }
    }
  }

  finish(parts: StreamPart[]): void {
    this.#chat.finish(parts);
  }

  #readEnd(response: JsonObject, parts: StreamPart[]): void {
    const finish = finishOf(response);
    this.#say(outputOf(response, this.#output), parts);
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

/** Returns the deltas of a whole response that its events have not had. Throws {@link ProviderFailure} `malformed` for one without output. */
function outputOf(response: JsonObject, output: OutputDeltas): JsonObject[] {
  const deltas = output.rest(response.output);
  if (!deltas) {
    throw new ProviderFailure('malformed');
  }
  return deltas;
}

/** Merges deltas into a message. */
function messageOf(deltas: readonly JsonObject[]): JsonObject {
  const text = (name: string) => deltas.map((delta) => textOf(delta[name])).join('');
  const listed = (name: string) => deltas.flatMap((delta) => objectsOf(delta[name]));
  return {
    content: text('content'),
    phases: phasesOf(deltas),
    refusal: text('refusal'),
    reasoning_content: text('reasoning_content'),
    annotations: listed('annotations'),
    reasoning_details: listed('reasoning_details'),
    tool_calls: listed('tool_calls'),
  };
}

/** Returns where in the whole content the messages begin that have a phase. */
function phasesOf(deltas: readonly JsonObject[]): JsonObject[] {
  let start = 0;
  return deltas.flatMap((delta) => {
    const begins = objectsOf(delta.phases).map(({ phase }) => ({ phase, start }));
    start += textOf(delta.content).length;
    return begins;
  });
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
