import { merged } from '../../lib/merged.ts';
import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf } from '../../providers/json.ts';
import { joinedContent } from './system-turns.ts';

/** What the model says between results and the next question, where it said nothing. Mistral rejects an empty turn. */
const HAS_RESULTS: JsonObject = { role: 'assistant', content: 'OK.' };

/**
 * Lets users and the model take turns, for models that accept nothing else: Mistral's answer 400 to a question right after the results of
 * tools ("Unexpected role 'user' after role 'tool'"; agents put reminders there), and templates to two questions in a row ("conversation
 * roles must alternate").
 */
export function* withAlternatingTurns(body: JsonObject): Steps<JsonObject> {
  /** Messages that are one turn. Joined once at the end: each time again would take minutes for thousands of messages in a row. */
  const turns: JsonObject[][] = [];
  for (const message of objectsOf(body.messages)) {
    const turn = turns.at(-1);
    const last = turn?.at(-1);
    if (turn && last && isSame(last, message)) {
      turn.push(message);
    } else if (last?.role === 'tool' && message.role === 'user') {
      turns.push([HAS_RESULTS], [message]);
    } else {
      turns.push([message]);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return merged(body, { messages: yield* mapInSteps(turns, asOne) });
}

/** Returns whether two messages in a row are one turn: of the user, or of the model before it calls a tool. */
function isSame(one: JsonObject, next: JsonObject): boolean {
  return (
    one.role === next.role &&
    (one.role === 'user' || (one.role === 'assistant' && objectsOf(one.tool_calls).length === 0))
  );
}

function asOne(turn: readonly JsonObject[]): JsonObject {
  const last = turn.at(-1) ?? {};
  return turn.length === 1 ? last : { ...last, content: joinedContent(turn) };
}
