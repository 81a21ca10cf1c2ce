import { type JsonObject, lengthOf, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { annotationOf } from './annotations.ts';
import type { StreamTranslator } from './chat-stream-to-messages.ts';
import { refusalOf } from './messages-answer-to-chat.ts';
import { detailOfThinking } from './thinking-details.ts';

interface Call {
  /** Index of the call in chat. */
  readonly index: number;
  /** The input that came with the start of the block. It counts if no pieces follow: some servers send both. */
  readonly input: string;
  hasArguments: boolean;
}

/** State carried from earlier events to later ones. */
interface State {
  readonly calls: Map<unknown, Call>;
  /** Citations of the open block, sent once its text is complete. */
  citations: JsonObject[];
  /** Start and end of the open block within the whole content, in code points. */
  start: number;
  end: number;
}

/**
 * Translates exact message events into exact chat chunks, except for the finish reason, which the presenter adds. Numbers tool calls in
 * order, and puts signatures into `reasoning_details` and citations of pages into `annotations`. Calls that the provider runs itself are
 * not forwarded to the client.
 */
export function createMessagesToChat(): StreamTranslator {
  const state: State = { calls: new Map(), citations: [], start: 0, end: 0 };
  return (event) => {
    switch (event.type) {
      case 'content_block_start':
        return blockStart(event, state);
      case 'content_block_delta':
        return blockDelta(event, state);
      case 'content_block_stop':
        return blockStop(event, state);
      case 'message_delta': {
        const refusal = refusalOf(objectOf(event.delta));
        return refusal === '' ? [] : [chunk({ refusal })];
      }
      default:
        return [];
    }
  };
}

function blockStart(event: JsonObject, state: State): JsonObject[] {
  const { calls } = state;
  const block = objectOf(event.content_block);
  state.start = state.end;
  state.citations = [...objectsOf(block.citations)];
  switch (block.type) {
    case 'text':
      return textOf(block.text) === '' ? [] : [contentOf(textOf(block.text), state)];
    case 'thinking':
      return thoughtOf(block, event.index);
    case 'redacted_thinking':
      return [chunk({ reasoning_details: [detailOfThinking(block, Number(event.index))] })];
    case 'tool_use': {
      const call = { index: calls.size, input: JSON.stringify(block.input ?? {}), hasArguments: false };
      calls.set(event.index, call);
      const named = { name: block.name, arguments: '' };
      return [
        chunk({ tool_calls: [{ index: call.index, id: block.id, type: 'function', function: named }] }),
      ];
    }
    default:
      return [];
  }
}

function blockDelta(event: JsonObject, state: State): JsonObject[] {
  const call = state.calls.get(event.index);
  const delta = objectOf(event.delta);
  switch (delta.type) {
    case 'text_delta':
      return [contentOf(textOf(delta.text), state)];
    case 'citations_delta':
      state.citations.push(objectOf(delta.citation));
      return [];
    case 'input_json_delta':
      return call && textOf(delta.partial_json) !== '' ? [argumentsOf(call, textOf(delta.partial_json))] : [];
    case 'thinking_delta':
    case 'signature_delta':
      return thoughtOf(delta, event.index);
    default:
      return [];
  }
}

/** Closes a block. A call whose arguments did not stream gets those of its start: strict parsers need at least the empty object. */
function blockStop(event: JsonObject, state: State): JsonObject[] {
  const { citations, start, end } = state;
  const call = state.calls.get(event.index);
  const annotations = citations.flatMap((citation) => annotationOf(citation, start, end) ?? []);
  state.citations = [];
  return [
    ...(annotations.length === 0 ? [] : [chunk({ annotations })]),
    ...(call && !call.hasArguments ? [argumentsOf(call, call.input)] : []),
  ];
}

/** Translates the text and the signature in a thinking block's start or in one of its deltas. */
function thoughtOf({ thinking, signature }: JsonObject, index: unknown): JsonObject[] {
  const text = textOf(thinking);
  if (text === '' && textOf(signature) === '') {
    return [];
  }
  const detail = detailOfThinking({ type: 'thinking', thinking, signature }, Number(index));
  const details = [detail];
  const delta =
    text === ''
      ? { reasoning_details: details }
      : { reasoning_content: text, reasoning: text, reasoning_details: details };
  return [chunk(delta)];
}

function contentOf(text: string, state: State): JsonObject {
  state.end += lengthOf(text);
  return chunk({ content: text });
}

function argumentsOf(call: Call, piece: string): JsonObject {
  call.hasArguments = true;
  return chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] });
}

function chunk(delta: JsonObject): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason: null }] };
}
