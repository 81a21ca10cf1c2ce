import { merged } from '../../lib/merged.ts';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf } from '../../providers/json.ts';

/**
 * Gives each of several calls in one turn a turn of its own, followed by its result, for models that accept only one call per turn. The
 * first turn says what was said before the calls.
 */
export function* withSingleCalls(body: JsonObject): Steps<JsonObject> {
  const messages = objectsOf(body.messages);
  if (!messages.some(hasSeveralCalls)) {
    return body;
  }
  const turns: JsonObject[] = [];
  let next = 0;
  for (let message = messages[next]; message; message = messages[next]) {
    next += 1;
    turns.push(message);
    if (hasSeveralCalls(message)) {
      const first = next;
      while (messages[next]?.role === 'tool') {
        next += 1;
      }
      turns.splice(-1, 1, ...apart(message, messages.slice(first, next)));
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return merged(body, { messages: turns });
}

function hasSeveralCalls({ tool_calls: calls }: JsonObject): boolean {
  return objectsOf(calls).length > 1;
}

/** Returns a turn's calls, each with its results; results of other calls last. */
function apart(turn: JsonObject, results: readonly JsonObject[]): readonly JsonObject[] {
  const calls = objectsOf(turn.tool_calls);
  const ids = new Set(calls.map(({ id }) => id));
  const byId = new Map<unknown, JsonObject[]>();
  for (const result of results) {
    const { tool_call_id: id } = result;
    byId.set(id, [...(byId.get(id) ?? []), result]);
  }
  const pairs = calls.flatMap((call, index) => {
    const said = index === 0 ? turn : { role: turn.role, content: null };
    return [merged(said, { tool_calls: [call] }), ...(byId.get(call.id) ?? [])];
  });
  return [...pairs, ...results.filter(({ tool_call_id: id }) => !ids.has(id))];
}
