import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from './json.ts';
import type { Facts } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';

/**
 * A block that every client takes: text is text, a call has an id, a name and an object for its input. Throws
 * {@link ProviderFailure} `malformed` without the name, or for an input that is none: a tool must not run with another.
 */
export function exactBlock(block: JsonObject): JsonObject {
  if (block.type === 'text') {
    return typeof block.text === 'string' ? block : { ...block, text: '' };
  }
  if (block.type !== 'tool_use') {
    return block;
  }
  if (textOf(block.name) === '') {
    throw new ProviderFailure('malformed');
  }
  const id = textOf(block.id) || `toolu_${randomBytes(12).toString('hex')}`;
  return { ...block, id, input: inputOf(block.input) };
}

/** What a tool is called with; proxies that translate leave it as text. */
function inputOf(value: unknown): JsonObject {
  if (value === undefined || value === null || value === '') {
    return {};
  }
  const input = typeof value === 'string' ? parseJson(value) : value;
  if (!isObject(input)) {
    throw new ProviderFailure('malformed');
  }
  return input;
}

/** The member of each delta that clients add to what they have. */
const ADDED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
  signature_delta: 'signature',
};

/** True for a delta that adds null, which clients would write out. */
export function saysNothing(delta: JsonObject): boolean {
  const member = ADDED[textOf(delta.type)];
  return member !== undefined && typeof delta[member] !== 'string';
}

/** The block that a delta without one belongs to. Throws {@link ProviderFailure} `malformed` where that is not to be known. */
export function blockOfDelta(delta: JsonObject): JsonObject {
  switch (delta.type) {
    case 'text_delta':
      return { type: 'text', text: '' };
    case 'thinking_delta':
    case 'signature_delta':
      return { type: 'thinking', thinking: '', signature: '' };
    default:
      throw new ProviderFailure('malformed');
  }
}

/** What the start of a block, or a whole one, says. */
export function blockFacts(block: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  switch (block.type) {
    case 'text':
      return { text: textOf(block.text), reasoning: '' };
    case 'thinking':
      return { text: '', reasoning: textOf(block.thinking) };
    case 'tool_use': {
      const input = Object.keys(objectOf(block.input)).length > 0 ? JSON.stringify(block.input) : '';
      return { text: textOf(block.name) + input, reasoning: '' };
    }
    default:
      return { text: '', reasoning: '' };
  }
}

/** What a delta says. */
export function deltaFacts(delta: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  return {
    text: textOf(delta.text) + textOf(delta.partial_json),
    reasoning: textOf(delta.thinking),
  };
}
