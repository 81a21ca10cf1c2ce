import { merged } from '../../lib/merged.ts';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';

/** What the model says between results and the next question, where it said nothing. Mistral rejects an empty turn. */
const HAS_RESULTS: JsonObject = { role: 'assistant', content: 'OK.' };

/**
 * Lets users and the model take turns, for models that accept nothing else: Mistral's answer 400 to a question right after the results of
 * tools ("Unexpected role 'user' after role 'tool'"; agents put reminders there), and templates to two questions in a row ("conversation
 * roles must alternate").
 */
export function* withAlternatingTurns(body: JsonObject): Steps<JsonObject> {
  const messages: JsonObject[] = [];
  for (const message of objectsOf(body.messages)) {
    const last = messages.at(-1);
    if (last && isSame(last, message)) {
      messages[messages.length - 1] = { ...message, content: both(last.content, message.content) };
    } else if (last?.role === 'tool' && message.role === 'user') {
      messages.push(HAS_RESULTS, message);
    } else {
      messages.push(message);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return merged(body, { messages });
}

/** Returns whether two messages in a row are one turn: of the user, or of the model before it calls a tool. */
function isSame(one: JsonObject, next: JsonObject): boolean {
  return (
    one.role === next.role &&
    (one.role === 'user' || (one.role === 'assistant' && objectsOf(one.tool_calls).length === 0))
  );
}

function both(one: unknown, next: unknown): unknown {
  return Array.isArray(one) || Array.isArray(next)
    ? [...partsOf(one), ...partsOf(next)]
    : [one, next].map(textOf).filter(Boolean).join('\n\n');
}

function partsOf(content: unknown): readonly JsonObject[] {
  const text = textOf(content);
  return text === '' ? objectsOf(content) : [{ type: 'text', text }];
}
