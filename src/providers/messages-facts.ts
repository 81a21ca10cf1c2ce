import { type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import type { Facts, FinishReason, ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { readMessagesUsage } from './usage-reading.ts';

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** The finish reason that a message's `stop_reason` stands for. */
export function messagesFinishReason(value: unknown): FinishReason | undefined {
  const text = textOf(value);
  return text === '' ? undefined : (FINISH_REASONS[text] ?? 'stop');
}

/** Reads a whole message. Throws {@link ProviderFailure} `malformed` when it is none. */
export function readMessagesAnswer(wire: JsonObject): ProviderAnswer {
  if (!Array.isArray(wire.content)) {
    throw new ProviderFailure('malformed');
  }
  let text = '';
  let reasoning = '';
  for (const block of objectsOf(wire.content)) {
    const facts = blockFacts(block);
    text += facts.text;
    reasoning += facts.reasoning;
  }
  const finishReason = messagesFinishReason(wire.stop_reason) ?? 'stop';
  return { wire, text, reasoning, finishReason, usage: readMessagesUsage(wire.usage) };
}

/** Reads the events of a streamed message; usage is reported in two of them. */
export function createMessagesReader(): EventReader {
  let complete = false;
  let ended = false;
  let openingUsage: unknown;
  return {
    // some proxies add it; this protocol ends with message_stop
    done: () => undefined,
    isComplete: () => complete,
    isEnded: () => ended,
    read(event): StreamPart | undefined {
      switch (event.type) {
        case 'ping':
          return undefined;
        case 'message_start': {
          openingUsage = objectOf(event.message).usage;
          const usage = readMessagesUsage({ output_tokens: 0 }, openingUsage);
          return { wire: event, ...NOTHING, inputUsage: usage && { ...usage, outputTokens: 0 } };
        }
        case 'content_block_start':
          return { wire: event, ...blockFacts(objectOf(event.content_block)) };
        case 'content_block_delta':
          return { wire: event, ...deltaFacts(objectOf(event.delta)) };
        case 'message_delta': {
          const finishReason = messagesFinishReason(objectOf(event.delta).stop_reason);
          complete ||= finishReason !== undefined;
          const reported = objectOf(event.usage).output_tokens !== undefined;
          const usage = reported ? readMessagesUsage(openingUsage, event.usage) : undefined;
          return { wire: event, ...NOTHING, finishReason, usage };
        }
        case 'message_stop':
          complete = true;
          ended = true;
          return { wire: event, ...NOTHING };
        default:
          return { wire: event, ...NOTHING };
      }
    },
  };
}

const NOTHING = { text: '', reasoning: '' };

function blockFacts(block: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  switch (block.type) {
    case 'text':
      return { text: textOf(block.text), reasoning: '' };
    case 'thinking':
      return { text: '', reasoning: textOf(block.thinking) };
    case 'tool_use': {
      const input = Object.keys(objectOf(block.input)).length > 0 ? JSON.stringify(block.input) : '';
      return { text: textOf(block.name) + input, reasoning: '' };
    }
    default:
      return NOTHING;
  }
}

function deltaFacts(delta: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  return {
    text: textOf(delta.text) + textOf(delta.partial_json),
    reasoning: textOf(delta.thinking),
  };
}
