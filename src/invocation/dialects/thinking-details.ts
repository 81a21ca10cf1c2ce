import { CLAUDE_REASONING } from '../../providers/chat-message.ts';
import { compact, type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';
import { ENCRYPTED_REASONING } from '../../providers/output-deltas.ts';

/** Returns whether a block is thinking, redacted or not. */
export function isThought({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Translates a thinking block into an entry of chat's `reasoning_details`, including the signature: tool loops must send it back. */
export function detailOfThinking(block: JsonObject, index: number): JsonObject | undefined {
  switch (block.type) {
    case 'thinking':
      return {
        type: 'reasoning.text',
        text: textOf(block.thinking),
        signature: textOf(block.signature),
        format: CLAUDE_REASONING,
        index,
      };
    case 'redacted_thinking':
      return { type: 'reasoning.encrypted', data: textOf(block.data), format: CLAUDE_REASONING, index };
    default:
      return undefined;
  }
}

/** Marks redacted thinking that holds a detail of another format, which only the provider that sent it understands. */
const FOREIGN = 'tgd1.';

/** Translates chat's `reasoning_details` into thinking blocks. What is encrypted becomes redacted thinking, which clients send back. */
export function blocksOfDetails(details: unknown): JsonObject[] {
  return mergedDetails(details).map((detail) => {
    const { data, text, signature } = thoughtOfDetail(detail);
    return data === ''
      ? { type: 'thinking', thinking: text, signature }
      : { type: 'redacted_thinking', data };
  });
}

/** What a detail, or a piece of one, becomes in a block. Only signatures of Claude are kept: no other model checks the text by one. */
export function thoughtOfDetail(detail: JsonObject): { data: string; text: string; signature: string } {
  const isOurs = isClaudes(detail);
  if (detail.type === 'reasoning.encrypted') {
    const { index: _, ...kept } = detail;
    const data = isOurs ? textOf(detail.data) : FOREIGN + JSON.stringify(kept);
    return { data, text: '', signature: '' };
  }
  const text = textOf(detail.text) + textOf(detail.summary);
  return { data: '', text, signature: isOurs ? textOf(detail.signature) : '' };
}

/**
 * Returns the details that an assistant turn of messages sends back: signed and redacted thinking. Leaves out other formats than those that
 * the model reads, given by how their names begin.
 */
export function detailsOfBlocks(blocks: readonly JsonObject[], formats: readonly string[]): JsonObject[] {
  return blocks
    .map(detailOfBlock)
    .filter((detail) => detail !== undefined)
    .filter(({ format }) => formats.some((one) => textOf(format).startsWith(one)))
    .map((detail, index) => compact(Object.assign({}, detail, { index })));
}

function detailOfBlock(block: JsonObject): JsonObject | undefined {
  if (isForeign(block)) {
    return objectOf(parseJson(textOf(block.data).slice(FOREIGN.length)));
  }
  const isSigned = block.type !== 'thinking' || textOf(block.signature) !== '';
  return isSigned ? detailOfThinking(block, 0) : undefined;
}

/** Returns whether a block is redacted thinking that Claude cannot read. */
export function isForeign(block: JsonObject): boolean {
  return block.type === 'redacted_thinking' && textOf(block.data).startsWith(FOREIGN);
}

function isClaudes({ format }: JsonObject): boolean {
  return format === undefined || format === null || format === CLAUDE_REASONING;
}

/** Returns the thinking blocks that a chat assistant message sends back. Leaves out unsigned and foreign ones, which would be rejected. */
export function thinkingOfDetails(details: unknown): JsonObject[] {
  return blocksOfDetails(details).filter(
    (block) => !isForeign(block) && (block.type !== 'thinking' || block.signature !== ''),
  );
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

/**
 * Merges details into one entry per block: streams, and clients that collected one, have an entry per delta. What is encrypted comes whole,
 * under the index of the text that it goes with.
 */
export function mergedDetails(details: unknown): JsonObject[] {
  const merged: JsonObject[] = [];
  const places = new Map<string, number>();
  for (const detail of objectsOf(details)) {
    const key = `${textOf(detail.type)} ${detail.index ?? ''}`;
    const place = places.get(key);
    const earlier = place === undefined ? undefined : merged[place];
    if (place === undefined || !earlier || !continues(earlier, detail)) {
      places.set(key, merged.length);
      merged.push(detail);
    } else {
      merged[place] = joinDetails(earlier, detail);
    }
  }
  return merged;
}

/** Without an index, only a signature tells where a block ends. */
function continues(earlier: JsonObject, later: JsonObject): boolean {
  const hasEnded = (later.index ?? undefined) === undefined && textOf(earlier.signature) !== '';
  return later.type !== 'reasoning.encrypted' && !hasEnded;
}

function joinDetails(earlier: JsonObject, later: JsonObject): JsonObject {
  const joined: Record<string, unknown> = Object.assign({}, earlier);
  for (const name of ['text', 'summary', 'signature']) {
    if (earlier[name] !== undefined || later[name] !== undefined) {
      joined[name] = textOf(earlier[name]) + textOf(later[name]);
    }
  }
  return joined;
}
