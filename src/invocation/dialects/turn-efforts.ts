import { merged } from '../../lib/merged.ts';
import { type JsonObject, objectOf, objectsOf, without } from '../../providers/json.ts';
import { isSystemTurn } from './system-turns.ts';

/** Returns the effort that a system turn sets for the answers after it; undefined if it sets none. */
export function effortOfTurn(turn: JsonObject): unknown {
  return isSystemTurn(turn) ? (objectOf(turn.output_config).effort ?? undefined) : undefined;
}

/** Returns whether a turn has settings of its own that is no system turn. No provider takes them. */
export function hasStraySettings({ messages }: JsonObject): boolean {
  return objectsOf(messages).some((turn) => turn.output_config !== undefined && !isSystemTurn(turn));
}

/** Returns whether any turn has settings of its own. */
export function hasTurnSettings({ messages }: JsonObject): boolean {
  return objectsOf(messages).some((turn) => turn.output_config !== undefined);
}

/**
 * Returns the effort of the answer. One directly after a question holds for its answer, another one from the next question on. Tool results
 * are no question.
 */
function effortAtEnd(turns: readonly JsonObject[], first: unknown): unknown {
  let current = first;
  let waiting: unknown;
  let isAsked = false;
  for (const turn of turns) {
    const effort = effortOfTurn(turn);
    if (effort !== undefined && isAsked) {
      current = effort;
      waiting = undefined;
    } else if (effort !== undefined) {
      waiting = effort;
    } else if (!isSystemTurn(turn)) {
      isAsked = isQuestion(turn);
      current = isAsked ? (waiting ?? current) : current;
      waiting = isAsked ? undefined : waiting;
    }
  }
  return current;
}

function isQuestion({ role, content }: JsonObject): boolean {
  return (
    role !== 'assistant' &&
    !(Array.isArray(content) && objectsOf(content).every(({ type }) => type === 'tool_result'))
  );
}

/**
 * Applies efforts on system turns for providers and models that do not know them: the answer gets the one in force as the effort of the
 * request, and turns that only set one are left out.
 */
export function withoutTurnEfforts(body: JsonObject): JsonObject {
  const turns = objectsOf(body.messages);
  const effort = effortAtEnd(turns, objectOf(body.output_config).effort);
  const messages = turns
    .filter((turn) => effortOfTurn(turn) === undefined || hasContent(turn))
    .map((turn) => without(turn, 'output_config'));
  const config = effort === undefined ? {} : { output_config: { ...objectOf(body.output_config), effort } };
  return merged(body, { messages, ...config });
}

/** Leaves efforts on system turns in place, in the form that Anthropic documents: with empty content where there is none. */
export function withTurnEfforts(body: JsonObject): JsonObject {
  const messages = objectsOf(body.messages).map((turn) => {
    const effort = effortOfTurn(turn);
    const bare = without(turn, 'output_config');
    return effort === undefined
      ? bare
      : { ...bare, content: hasContent(turn) ? turn.content : [], output_config: { effort } };
  });
  return merged(body, { messages });
}

function hasContent({ content }: JsonObject): boolean {
  return typeof content === 'string' ? content !== '' : objectsOf(content).length > 0;
}
