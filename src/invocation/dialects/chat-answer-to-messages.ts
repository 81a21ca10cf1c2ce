import { chatFinishReason } from '../../providers/chat-facts.ts';
import { type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';
import { stopReasonOf } from './stop-reason.ts';

/** A chat completion as a message; `id`, `model` and `usage` are the presenter's. */
export function chatAnswerToMessages(wire: JsonObject): JsonObject {
  const choice = objectOf(objectsOf(wire.choices)[0]);
  const message = objectOf(choice.message);
  const stopSequence = matchedStop(choice);
  const refused = textOf(message.refusal) !== '';
  const finishReason = refused ? 'content_filter' : (chatFinishReason(choice.finish_reason) ?? 'stop');
  return {
    type: 'message',
    role: 'assistant',
    content: contentOf(message),
    stop_reason: stopReasonOf(finishReason, stopSequence),
    stop_sequence: finishReason === 'stop' ? stopSequence : null,
  };
}

/** vLLM tells which stop string matched, as `stop_reason` of the choice; others don't tell. */
export function matchedStop(choice: JsonObject): string | null {
  return typeof choice.stop_reason === 'string' ? choice.stop_reason : null;
}

function contentOf(message: JsonObject): JsonObject[] {
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning);
  const text = contentText(message.content) + textOf(message.refusal);
  const calls = objectsOf(message.tool_calls).map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: objectOf(call.function).name,
    input: objectOf(parseJson(textOf(objectOf(call.function).arguments))),
  }));
  return [
    ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls,
  ];
}

function contentText(content: unknown): string {
  return typeof content === 'string'
    ? content
    : objectsOf(content)
        .map((part) => textOf(part.text))
        .join('');
}
