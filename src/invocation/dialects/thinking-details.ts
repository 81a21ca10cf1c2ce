import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { ENCRYPTED_REASONING } from '../../providers/responses-reader.ts';

/** Marks details that carry Anthropic signatures; the format OpenRouter uses, which its clients send back unchanged. */
const FORMAT = 'anthropic-claude-v1';

/** A thinking block as an entry of chat's `reasoning_details`, signature included: tool loops must send it back. */
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

/** The thinking blocks that a chat assistant message brings back; unsigned ones would be refused and are left out. */
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

/** The encrypted reasoning that a chat assistant message brings back to a provider of Responses; what others thought it cannot read. */
export function encryptedReasoning(details: unknown): string[] {
  return objectsOf(details)
    .filter(({ format }) => format === ENCRYPTED_REASONING)
    .map(({ data }) => textOf(data));
}

/** Whether {@link thinkingOfDetails} leaves some of them out. */
export function leavesOutDetails(details: unknown): boolean {
  return thinkingOfDetails(details).length < mergedDetails(details).length;
}

/** The details with one entry for each block: a stream, and a client that collected one, has an entry per delta. */
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
