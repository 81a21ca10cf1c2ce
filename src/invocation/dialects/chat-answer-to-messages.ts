import { isObject, type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';
import type { FinishReason } from '../../providers/provider.types.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import { stopReasonOf } from './stop-reason.ts';
import { messagesToolId } from './tool-ids.ts';

/** How a chat answer is told in messages. */
export interface MessageForm {
  /** Whether thinking was asked for. */
  readonly thinking: boolean;
  /** The names of tools that the provider knows by a shorter one, by that. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/**
 * An exact chat completion as a message; `id`, `model` and `usage` are the presenter's. Throws {@link ProviderFailure}
 * `malformed` for arguments that are no JSON object: a tool must not run with others than the model chose.
 */
export function chatAnswerToMessages(wire: JsonObject, { thinking, toolNames }: MessageForm): JsonObject {
  const choice = objectOf(objectsOf(wire.choices)[0]);
  const message = objectOf(choice.message);
  const finish = choice.finish_reason as FinishReason;
  const stopSequence = matchedStop(choice);
  const finishReason = textOf(message.refusal) === '' ? finish : 'content_filter';
  return {
    type: 'message',
    role: 'assistant',
    content: contentOf(message, thinking, (call) => toolUse(call, toolNames, finish === 'length')),
    stop_reason: stopReasonOf(finishReason, stopSequence),
    stop_sequence: finishReason === 'stop' ? stopSequence : null,
  };
}

/** vLLM tells which stop string matched, as `stop_reason` of the choice; others don't tell. */
export function matchedStop(choice: JsonObject): string | null {
  return typeof choice.stop_reason === 'string' ? choice.stop_reason : null;
}

function contentOf(
  message: JsonObject,
  thinking: boolean,
  blocksOf: (call: JsonObject) => JsonObject[],
): JsonObject[] {
  const reasoning = thinking ? textOf(message.reasoning) : '';
  const text = textOf(message.content) + textOf(message.refusal);
  const calls = objectsOf(message.tool_calls).flatMap(blocksOf);
  return [
    ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls,
  ];
}

/** None for a call whose arguments were cut off with the answer. */
function toolUse(call: JsonObject, names: MessageForm['toolNames'], wasCut: boolean): JsonObject[] {
  const { name: given, arguments: args } = objectOf(call.function ?? call.custom);
  const name = names.get(textOf(given)) ?? given;
  const input = parseJson(textOf(args));
  if (isObject(input)) {
    return [{ type: 'tool_use', id: messagesToolId(call), name, input }];
  }
  if (wasCut) {
    return [];
  }
  throw new ProviderFailure('malformed');
}
