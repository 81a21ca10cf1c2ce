import { type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';

/** Marks reasoning that we sealed. Reasoning sealed by others can only be opened by them. */
const SEAL = 'tg1.';

/** A model's reasoning before an answer, in chat's form. */
export interface Reasoning {
  readonly text: string;
  /** Chat's `reasoning_details`. When present they contain everything that `text` does, plus signatures. */
  readonly details: readonly JsonObject[];
}

/**
 * Encodes reasoning as the `encrypted_content` of an item, which clients keep and send back. Without it, models that sign their reasoning
 * refuse to continue after their calls. It contains nothing that the answer does not show.
 */
export function sealReasoning({ text, details }: Reasoning): string {
  const kept = details.length > 0 ? { details } : { text };
  return SEAL + Buffer.from(JSON.stringify(kept)).toString('base64url');
}

/** Returns the members of chat's assistant message that carry the sealed reasoning, or undefined when we did not seal it. */
export function openReasoning(sealed: string): JsonObject | undefined {
  if (!sealed.startsWith(SEAL)) {
    return undefined;
  }
  const kept = objectOf(parseJson(Buffer.from(sealed.slice(SEAL.length), 'base64url').toString('utf8')));
  const details = objectsOf(kept.details);
  if (details.length > 0) {
    return { reasoning_details: details };
  }
  return textOf(kept.text) === '' ? undefined : { reasoning_content: kept.text };
}
