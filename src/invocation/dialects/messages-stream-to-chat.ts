import { type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { annotationOf, lengthOf } from './annotations.ts';
import type { StreamTranslator } from './chat-stream-to-messages.ts';
import { detailOfThinking } from './thinking-details.ts';

interface Call {
  /** Index of the call in chat. */
  readonly index: number;
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
    case 'redacted_thinking':
      return [chunk({ reasoning_details: [detailOfThinking(block, Number(event.index))] })];
    case 'tool_use': {
      const given = Object.keys(objectOf(block.input)).length > 0 ? JSON.stringify(block.input) : '';
      const call = { index: calls.size, hasArguments: given !== '' };
      calls.set(event.index, call);
      const named = { name: block.name, arguments: given };
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
    case 'thinking_delta': {
      const { thinking } = delta;
      const detail = detailOfThinking({ type: 'thinking', thinking }, Number(event.index));
      return [chunk({ reasoning_content: thinking, reasoning: thinking, reasoning_details: [detail] })];
    }
    case 'signature_delta': {
      const detail = detailOfThinking({ type: 'thinking', signature: delta.signature }, Number(event.index));
      return [chunk({ reasoning_details: [detail] })];
    }
    default:
      return [];
  }
}

/** Closes a block. A call without arguments streams none, but strict parsers need the empty object. */
function blockStop(event: JsonObject, state: State): JsonObject[] {
  const { citations, start, end } = state;
  const call = state.calls.get(event.index);
  const annotations = citations.flatMap((citation) => annotationOf(citation, start, end) ?? []);
  state.citations = [];
  return [
    ...(annotations.length === 0 ? [] : [chunk({ annotations })]),
    ...(call && !call.hasArguments ? [argumentsOf(call, '{}')] : []),
  ];
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
