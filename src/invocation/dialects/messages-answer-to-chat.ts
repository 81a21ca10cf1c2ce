import { finishWithTools, readFinish } from '../../providers/finish-reasons.ts';
import { compact, type JsonObject, lengthOf, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { annotationOf } from './annotations.ts';
import { detailOfThinking } from './thinking-details.ts';

/** Translates a message into a chat completion. The presenter adds `id`, `model`, `created` and `usage`. */
export function messagesAnswerToChat(wire: JsonObject): JsonObject {
  const blocks = objectsOf(wire.content);
  const text = blocks.map((block) => (block.type === 'text' ? textOf(block.text) : '')).join('');
  const reasoning = blocks.map((block) => textOf(block.thinking)).join('');
  const details = blocks.flatMap((block, index) => detailOfThinking(block, index) ?? []);
  const annotations = annotationsOf(blocks);
  const calls = blocks.filter((block) => block.type === 'tool_use').map(toolCallOf);
  const refused = wire.stop_reason === 'refusal';
  const message = compact({
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refused) ? null : text,
    refusal: refusalOf(wire) || null,
    annotations: annotations.length === 0 ? undefined : annotations,
    reasoning_content: reasoning === '' ? undefined : reasoning,
    reasoning: reasoning === '' ? undefined : reasoning,
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls: calls.length === 0 ? undefined : calls,
  });
  const finish = finishWithTools(readFinish(wire.stop_reason)?.reason ?? 'stop', calls.length > 0);
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  return { object: 'chat.completion', choices: [choice] };
}

/** Returns why the model refused, from a message or its closing delta; empty if it did not, or did not say. */
export function refusalOf({ stop_reason, stop_details }: JsonObject): string {
  return stop_reason === 'refusal' ? textOf(objectOf(stop_details).explanation) : '';
}

function annotationsOf(blocks: readonly JsonObject[]): JsonObject[] {
  const annotations: JsonObject[] = [];
  let end = 0;
  for (const block of blocks) {
    const start = end;
    end += block.type === 'text' ? lengthOf(textOf(block.text)) : 0;
    for (const citation of objectsOf(block.citations)) {
      const annotation = annotationOf(citation, start, end);
      if (annotation) {
        annotations.push(annotation);
      }
    }
  }
  return annotations;
}

function toolCallOf(block: JsonObject): JsonObject {
  const args = JSON.stringify(block.input ?? {});
  return { id: block.id, type: 'function', function: { name: block.name, arguments: args } };
}
