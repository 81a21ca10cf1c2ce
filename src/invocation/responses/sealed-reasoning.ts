import { type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';

/** Marks what this service sealed; what others sealed only they can open. */
const SEAL = 'tg1.';

/** What a model thought before an answer, as chat tells it. */
export interface Reasoning {
  readonly text: string;
  /** Chat's `reasoning_details`: where they are, they say all that the text does, signatures included. */
  readonly details: readonly JsonObject[];
}

/**
 * Reasoning as the `encrypted_content` of an item, which clients keep and send back: without it models that sign their thoughts refuse
 * to go on with their calls. It holds nothing that the answer does not show.
 */
export function sealReasoning({ text, details }: Reasoning): string {
  const kept = details.length > 0 ? { details } : { text };
  return SEAL + Buffer.from(JSON.stringify(kept)).toString('base64url');
}

/** The members of chat's assistant message that bring sealed reasoning back; undefined for what was not sealed here. */
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
