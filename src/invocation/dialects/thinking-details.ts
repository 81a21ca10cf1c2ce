import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { ENCRYPTED_REASONING } from '../../providers/output-deltas.ts';

/** Marks details that carry Anthropic signatures. OpenRouter uses the same format, and its clients send it back unchanged. */
const FORMAT = 'anthropic-claude-v1';

/** Translates a thinking block into an entry of chat's `reasoning_details`, including the signature: tool loops must send it back. */
export function detailOfThinking(block: JsonObject, index: number): JsonObject | undefined {
  switch (block.type) {
    case 'thinking':
      return {
        type: 'reasoning.text',
        text: textOf(block.thinking),
        signature: textOf(block.signature),
        format: FORMAT,
        index,
      };
    case 'redacted_thinking':
      return { type: 'reasoning.encrypted', data: textOf(block.data), format: FORMAT, index };
    default:
      return undefined;
  }
}

/** Returns the thinking blocks that a chat assistant message sends back. Leaves out unsigned ones, which would be rejected. */
export function thinkingOfDetails(details: unknown): JsonObject[] {
  return mergedDetails(details).flatMap((detail): JsonObject[] => {
    if (detail.format === ENCRYPTED_REASONING) {
      return [];
    }
    if (detail.type === 'reasoning.encrypted') {
      return [{ type: 'redacted_thinking', data: detail.data }];
    }
    const signature = textOf(detail.signature);
    return signature === '' ? [] : [{ type: 'thinking', thinking: textOf(detail.text), signature }];
  });
}

/**
 * Returns the encrypted reasoning that a chat assistant message sends back to a Responses provider, which cannot read the reasoning of
 * others.
 */
export function encryptedReasoning(details: unknown): string[] {
  return objectsOf(details)
    .filter(({ format }) => format === ENCRYPTED_REASONING)
    .map(({ data }) => textOf(data));
}

/** Returns whether {@link thinkingOfDetails} leaves any of them out. */
export function leavesOutDetails(details: unknown): boolean {
  return thinkingOfDetails(details).length < mergedDetails(details).length;
}

/** Merges details into one entry per block: streams, and clients that collected one, have an entry per delta. */
export function mergedDetails(details: unknown): JsonObject[] {
  const merged = new Map<unknown, JsonObject>();
  for (const detail of objectsOf(details)) {
    const key = detail.index ?? merged.size;
    merged.set(key, joinDetails(merged.get(key), detail));
  }
  return [...merged.values()];
}

function joinDetails(earlier: JsonObject | undefined, later: JsonObject): JsonObject {
  return earlier
    ? {
        ...earlier,
        text: textOf(earlier.text) + textOf(later.text),
        signature: textOf(earlier.signature) + textOf(later.signature),
      }
    : later;
}
