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
  let calling: JsonObject | undefined;
  let results: JsonObject[] = [];
  for (const message of messages) {
    if (calling && message.role === 'tool') {
      results.push(message);
    } else {
      addApart(turns, calling, results);
      calling = hasSeveralCalls(message) ? message : undefined;
      results = [];
      if (!calling) {
        turns.push(message);
      }
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  addApart(turns, calling, results);
  return merged(body, { messages: turns });
}

function hasSeveralCalls({ tool_calls: calls }: JsonObject): boolean {
  return objectsOf(calls).length > 1;
}

/**
 * Adds a turn's calls, each with its results; results of other calls last. In linear time and without spreading lists: a request may hold
 * 100,000 results.
 */
function addApart(turns: JsonObject[], turn: JsonObject | undefined, results: readonly JsonObject[]): void {
  if (!turn) {
    return;
  }
  const calls = objectsOf(turn.tool_calls);
  const byId = new Map<unknown, JsonObject[]>(calls.map(({ id }) => [id, []]));
  const others: JsonObject[] = [];
  for (const result of results) {
    (byId.get(result.tool_call_id) ?? others).push(result);
  }
  for (const [index, call] of calls.entries()) {
    turns.push(merged(index === 0 ? turn : { role: turn.role, content: null }, { tool_calls: [call] }));
    for (const result of byId.get(call.id) ?? []) {
      turns.push(result);
    }
    byId.delete(call.id);
  }
  for (const result of others) {
    turns.push(result);
  }
}
