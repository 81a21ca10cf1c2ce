import { isObject, type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import type { Facts, FinishReason, ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { readChatUsage } from './usage-reading.ts';

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
};

/** The finish reason of a chat choice; servers invent their own words for an ordinary end. */
export function chatFinishReason(value: unknown): FinishReason | undefined {
  const text = textOf(value);
  return text === '' ? undefined : (FINISH_REASONS[text] ?? 'stop');
}

/** Reads a whole chat completion. Throws {@link ProviderFailure} `malformed` when it is none. */
export function readChatAnswer(wire: JsonObject): ProviderAnswer {
  const [choice] = objectsOf(wire.choices);
  if (!choice || !isObject(choice.message)) {
    throw new ProviderFailure('malformed');
  }
  const finishReason = chatFinishReason(choice.finish_reason) ?? 'stop';
  if (choice.finish_reason === 'error') {
    throw new ProviderFailure('failed');
  }
  return { wire, ...produced(choice.message), finishReason, usage: readChatUsage(wire.usage) };
}

/** Reads the chunks of a streamed chat completion. */
export function createChatReader(): EventReader {
  let complete = false;
  let ended = false;
  return {
    done: () => {
      ended = true;
    },
    isComplete: () => complete,
    isEnded: () => ended,
    read(event): StreamPart {
      const [choice] = objectsOf(event.choices);
      if (choice?.finish_reason === 'error') {
        throw new ProviderFailure('failed');
      }
      const finishReason = chatFinishReason(choice?.finish_reason);
      complete ||= finishReason !== undefined;
      return {
        wire: event,
        ...produced(objectOf(choice?.delta)),
        finishReason,
        usage: readChatUsage(event.usage),
      };
    },
  };
}

function produced(message: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  let text = contentText(message.content) + textOf(message.refusal);
  for (const call of objectsOf(message.tool_calls)) {
    const named = objectOf(call.function ?? call.custom);
    text += textOf(named.name) + textOf(named.arguments) + textOf(named.input);
  }
  return { text, reasoning: textOf(message.reasoning_content) || textOf(message.reasoning) };
}

function contentText(content: unknown): string {
  return Array.isArray(content)
    ? objectsOf(content)
        .map((part) => textOf(part.text))
        .join('')
    : textOf(content);
}
