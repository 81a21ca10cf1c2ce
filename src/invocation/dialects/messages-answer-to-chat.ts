import { finishWithTools, readFinish } from '../../providers/finish-reasons.ts';
import { compact, type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { detailOfThinking } from './thinking-details.ts';

/** A message as a chat completion; `id`, `model`, `created` and `usage` are the presenter's. */
export function messagesAnswerToChat(wire: JsonObject): JsonObject {
  const blocks = objectsOf(wire.content);
  const text = blocks.map((block) => (block.type === 'text' ? textOf(block.text) : '')).join('');
  const reasoning = blocks.map((block) => textOf(block.thinking)).join('');
  const details = blocks.flatMap((block, index) => detailOfThinking(block, index) ?? []);
  const calls = blocks.filter((block) => block.type === 'tool_use').map(toolCallOf);
  const refused = wire.stop_reason === 'refusal';
  const message = compact({
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refused) ? null : text,
    refusal: null,
    reasoning_content: reasoning === '' ? undefined : reasoning,
    reasoning: reasoning === '' ? undefined : reasoning,
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls: calls.length === 0 ? undefined : calls,
  });
  const finish = finishWithTools(readFinish(wire.stop_reason)?.reason ?? 'stop', calls.length > 0);
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  return { object: 'chat.completion', choices: [choice] };
}

function toolCallOf(block: JsonObject): JsonObject {
  const args = JSON.stringify(block.input ?? {});
  return { id: block.id, type: 'function', function: { name: block.name, arguments: args } };
}
