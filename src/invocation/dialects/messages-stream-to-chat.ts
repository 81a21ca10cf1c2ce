import { type JsonObject, objectOf, textOf } from '../../providers/json.ts';
import { messagesFinishReason } from '../../providers/messages-facts.ts';
import type { StreamTranslator } from './chat-stream-to-messages.ts';
import { detailOfThinking } from './thinking-details.ts';

/** Message events as chat chunks. Tool calls are numbered in their order; a signature travels in `reasoning_details`. */
export function createMessagesToChat(): StreamTranslator {
  /** Chat's index of the tool call in each messages block. */
  const callIndexes = new Map<unknown, number>();
  return (event) => {
    switch (event.type) {
      case 'message_start':
        return [chunk({ role: 'assistant', content: '' })];
      case 'content_block_start':
        return blockStart(event, callIndexes);
      case 'content_block_delta':
        return blockDelta(event, callIndexes);
      case 'message_delta': {
        const finishReason = messagesFinishReason(objectOf(event.delta).stop_reason);
        return finishReason ? [chunk({}, finishReason)] : [];
      }
      default:
        return [];
    }
  };
}

function blockStart(event: JsonObject, callIndexes: Map<unknown, number>): JsonObject[] {
  const block = objectOf(event.content_block);
  switch (block.type) {
    case 'text':
      return textOf(block.text) === '' ? [] : [chunk({ content: block.text })];
    case 'redacted_thinking':
      return [chunk({ reasoning_details: [detailOfThinking(block, Number(event.index))] })];
    case 'tool_use': {
      const index = callIndexes.size;
      callIndexes.set(event.index, index);
      const given = Object.keys(objectOf(block.input)).length > 0 ? JSON.stringify(block.input) : '';
      const named = { name: block.name, arguments: given };
      return [chunk({ tool_calls: [{ index, id: block.id, type: 'function', function: named }] })];
    }
    default:
      return [];
  }
}

function blockDelta(event: JsonObject, callIndexes: Map<unknown, number>): JsonObject[] {
  const delta = objectOf(event.delta);
  switch (delta.type) {
    case 'text_delta':
      return [chunk({ content: delta.text })];
    case 'input_json_delta': {
      const index = callIndexes.get(event.index) ?? 0;
      return [chunk({ tool_calls: [{ index, function: { arguments: delta.partial_json } }] })];
    }
    case 'thinking_delta': {
      const detail = detailOfThinking({ type: 'thinking', thinking: delta.thinking }, Number(event.index));
      return [chunk({ reasoning: delta.thinking, reasoning_details: [detail] })];
    }
    case 'signature_delta': {
      const detail = detailOfThinking({ type: 'thinking', signature: delta.signature }, Number(event.index));
      return [chunk({ reasoning_details: [detail] })];
    }
    default:
      return [];
  }
}

function chunk(delta: JsonObject, finishReason: string | null = null): JsonObject {
  return { object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finishReason }] };
}
