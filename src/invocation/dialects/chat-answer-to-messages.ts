import { isCut } from '../../providers/finish-reasons.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from '../../providers/json.ts';
import type { FinishReason } from '../../providers/provider.types.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import { citationOf, citedPages } from './annotations.ts';
import { stopReasonOf } from './stop-reason.ts';
import { blocksOfDetails } from './thinking-details.ts';
import { clientToolId } from './tool-ids.ts';

/** Options for translating a chat answer into a message. */
export interface MessageForm {
  /** Whether the request asked for thinking. */
  readonly thinking: boolean;
  /** Maps the shortened tool name known to the provider to the caller's own name. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/**
 * Translates an exact chat completion into a message. The presenter adds `id`, `model` and `usage`. Throws {@link ProviderFailure}
 * `malformed` for arguments that are not a JSON object: a tool must not run with arguments other than those the model chose.
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
    content: contentOf(message, citedPages(wire, message).map(citationOf), thinking, (call) =>
      toolUse(call, toolNames, isCut(finish)),
    ),
    stop_reason: stopReasonOf(finishReason, stopSequence),
    stop_sequence: finishReason === 'stop' ? stopSequence : null,
  };
}

/** Returns the matched stop string. vLLM reports it as `stop_reason` of the choice; others do not report it. */
export function matchedStop(choice: JsonObject): string | null {
  return typeof choice.stop_reason === 'string' ? choice.stop_reason : null;
}

function contentOf(
  message: JsonObject,
  citations: readonly JsonObject[],
  thinking: boolean,
  blocksOf: (call: JsonObject) => JsonObject[],
): JsonObject[] {
  const text = textOf(message.content) + textOf(message.refusal);
  const calls = objectsOf(message.tool_calls).flatMap(blocksOf);
  return [
    ...(thinking ? thoughtsOf(message) : []),
    ...(text === ''
      ? []
      : [compact({ type: 'text', text, citations: citations.length === 0 ? undefined : citations })]),
    ...calls,
  ];
}

/** Returns the thinking of a message. Its details repeat the reasoning, with the signatures that its provider wants back. */
function thoughtsOf(message: JsonObject): JsonObject[] {
  const blocks = blocksOfDetails(message.reasoning_details);
  const reasoning = textOf(message.reasoning);
  const isTold = blocks.some((block) => textOf(block.thinking) !== '');
  return reasoning === '' || isTold
    ? blocks
    : [{ type: 'thinking', thinking: reasoning, signature: '' }, ...blocks];
}

/** Returns no block for a call whose arguments were cut off with the answer. */
function toolUse(call: JsonObject, names: MessageForm['toolNames'], wasCut: boolean): JsonObject[] {
  const { name: given, arguments: args } = objectOf(call.function ?? call.custom);
  const name = names.get(textOf(given)) ?? given;
  const input = parseJson(textOf(args));
  if (isObject(input)) {
    return [{ type: 'tool_use', id: clientToolId(call), name, input }];
  }
  if (wasCut) {
    return [];
  }
  throw new ProviderFailure('malformed');
}
