import { type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';

/** Marks what we sealed. What others sealed can only be opened by them. */
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
  return seal(details.length > 0 ? { details } : { text });
}

/** Returns the members of chat's assistant message that carry the sealed reasoning, or undefined when we did not seal it. */
export function openReasoning(sealed: string): JsonObject | undefined {
  const kept = open(sealed);
  const details = objectsOf(kept.details);
  if (details.length > 0) {
    return { reasoning_details: details };
  }
  return textOf(kept.text) === '' ? undefined : { reasoning_content: kept.text };
}

/** Encodes the summary of a conversation as the `encrypted_content` of a compaction item. */
export function sealSummary(summary: string): string {
  return seal({ summary });
}

/** Returns the summary in a compaction item; the empty string when we did not seal it. */
export function openSummary(sealed: string): string {
  return textOf(open(sealed).summary);
}

function seal(kept: JsonObject): string {
  return SEAL + Buffer.from(JSON.stringify(kept)).toString('base64url');
}

function open(sealed: string): JsonObject {
  return sealed.startsWith(SEAL)
    ? objectOf(parseJson(Buffer.from(sealed.slice(SEAL.length), 'base64url').toString('utf8')))
    : {};
}
