import { isObject, type JsonObject, objectOf, without } from '../../providers/json.ts';

/** Returns whether a chat request wants no reasoning in its answer: OpenRouter's `reasoning.exclude`, or its older `include_reasoning`. */
export function hidesReasoning(body: JsonObject): boolean {
  return objectOf(body.reasoning).exclude === true || body.include_reasoning === false;
}

/** Removes the reasoning from an exact choice of an answer or chunk. Returns undefined for a chunk of which nothing is left. */
export function choiceWithoutReasoning(choice: JsonObject): JsonObject | undefined {
  const place = isObject(choice.message) ? 'message' : 'delta';
  const said = objectOf(choice[place]);
  const rest = without(said, 'reasoning', 'reasoning_content', 'reasoning_details');
  const isGone = place === 'delta' && Object.keys(rest).length === 0 && Object.keys(said).length > 0;
  return isGone && !choice.finish_reason ? undefined : { ...choice, [place]: rest };
}
