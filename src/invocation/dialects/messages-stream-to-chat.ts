import { type JsonObject, objectOf, textOf } from '../../providers/json.ts';
import type { StreamTranslator } from './chat-stream-to-messages.ts';
import { detailOfThinking } from './thinking-details.ts';

interface Call {
  /** Chat's index. */
  readonly index: number;
  hasArguments: boolean;
}

/**
 * Exact message events as exact chat chunks, the finish left to the presenter. Tool calls are numbered in their order; a
 * signature travels in `reasoning_details`. Calls that the provider runs by itself are not the client's.
 */
export function createMessagesToChat(): StreamTranslator {
  const calls = new Map<unknown, Call>();
  return (event) => {
    switch (event.type) {
      case 'content_block_start':
        return blockStart(event, calls);
      case 'content_block_delta':
        return blockDelta(event, calls.get(event.index));
      case 'content_block_stop':
        return blockStop(calls.get(event.index));
      default:
        return [];
    }
  };
}

function blockStart(event: JsonObject, calls: Map<unknown, Call>): JsonObject[] {
  const block = objectOf(event.content_block);
  switch (block.type) {
    case 'text':
      return textOf(block.text) === '' ? [] : [chunk({ content: block.text })];
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

function blockDelta(event: JsonObject, call: Call | undefined): JsonObject[] {
  const delta = objectOf(event.delta);
  switch (delta.type) {
    case 'text_delta':
      return [chunk({ content: delta.text })];
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

/** A call without arguments streams none; strict parsers need the empty object. */
function blockStop(call: Call | undefined): JsonObject[] {
  return call && !call.hasArguments ? [argumentsOf(call, '{}')] : [];
}

function argumentsOf(call: Call, piece: string): JsonObject {
  call.hasArguments = true;
  return chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] });
}

function chunk(delta: JsonObject): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason: null }] };
}
