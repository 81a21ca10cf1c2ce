import { merged } from '../../lib/merged.ts';
import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf } from '../../providers/json.ts';
import { GREETING, isSystemTurn, joinedContent } from './system-turns.ts';

/** What the model says between results and the next question, where it said nothing. Mistral rejects an empty turn. */
const HAS_RESULTS: JsonObject = { role: 'assistant', content: 'OK.' };

/** What the user says after an answer that is to be continued. */
const CONTINUE: JsonObject = { role: 'user', content: 'Go on.' };

/**
 * Lets users and the model take turns, the user first and last, for models that accept nothing else: Mistral's answer 400 to a question right
 * after the results of tools ("Unexpected role 'user' after role 'tool'"; agents put reminders there) and to an answer at the end
 * ("Expected last role User or Tool"), and templates to two questions in a row and to an answer at the beginning, as chats with a greeting
 * have it ("conversation roles must alternate").
 */
export function* withAlternatingTurns(body: JsonObject): Steps<JsonObject> {
  /** Messages that are one turn. Joined once at the end: each time again would take minutes for thousands of messages in a row. */
  const turns: JsonObject[][] = [];
  for (const message of objectsOf(body.messages)) {
    if (saysNothing(message)) {
      continue;
    }
    const turn = turns.at(-1);
    const last = turn?.at(-1);
    if (turn && last && isSame(last, message)) {
      turn.push(message);
    } else if (last?.role === 'tool' && message.role === 'user') {
      turns.push([HAS_RESULTS], [message]);
    } else if (message.role === 'assistant' && (!last || isSystemTurn(last))) {
      turns.push([GREETING], [message]);
    } else {
      turns.push([message]);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  const last = turns.at(-1)?.at(-1);
  if (last?.role === 'assistant' && !hasCalls(last) && last.prefix !== true) {
    turns.push([CONTINUE]);
  }
  return merged(body, { messages: yield* mapInSteps(turns, asOne) });
}

function saysNothing(message: JsonObject): boolean {
  const { role, content } = message;
  return role === 'assistant' && (content ?? '') === '' && !hasCalls(message);
}

function hasCalls({ tool_calls: calls }: JsonObject): boolean {
  return objectsOf(calls).length > 0;
}

/** Returns whether two messages in a row are one turn: of the user, or of the model before it calls a tool. */
function isSame(one: JsonObject, next: JsonObject): boolean {
  return one.role === next.role && (one.role === 'user' || (one.role === 'assistant' && !hasCalls(one)));
}

function asOne(turn: readonly JsonObject[]): JsonObject {
  const last = turn.at(-1) ?? {};
  return turn.length === 1 ? last : { ...last, content: joinedContent(turn) };
}
