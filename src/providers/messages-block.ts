import { randomBytes } from 'node:crypto';
import { merged } from '../lib/merged.ts';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from './json.ts';
import type { Facts } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';

/**
 * Normalizes a block so that every client accepts it: text, thinking and its signature are strings, a tool call has an id, a name and an object as input. Throws
 * {@link ProviderFailure} `malformed` if the name is missing or the input is not an object: a tool must not run with a different input.
 */
export function exactBlock(block: JsonObject): JsonObject {
  if (block.type === 'text') {
    return typeof block.text === 'string' ? block : merged(block, { text: '' });
  }
  if (block.type === 'thinking') {
    const { thinking, signature } = block;
    const isExact = typeof thinking === 'string' && typeof signature === 'string';
    return isExact ? block : merged(block, { thinking: textOf(thinking), signature: textOf(signature) });
  }
  if (block.type !== 'tool_use') {
    return block;
  }
  if (textOf(block.name) === '') {
    throw new ProviderFailure('malformed');
  }
  const id = textOf(block.id) || `toolu_${randomBytes(12).toString('hex')}`;
  return merged(block, { id, input: inputOf(block.input) });
}

/** Returns the input of a tool call. Proxies that translate between protocols leave it as JSON text. */
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

/** The member of each delta type that clients append to what they have. */
const ADDED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
  signature_delta: 'signature',
};

/** The member of each type of block that no other type has. */
const HELD: Readonly<Record<string, string>> = { text: 'text', thinking: 'thinking', tool_use: 'name' };

/** Returns a delta with its type, which follows from what it adds where a server leaves it out; undefined for one that adds nothing known. */
export function typedDelta(delta: JsonObject): JsonObject | undefined {
  return typed(delta, ADDED);
}

/** {@link typedDelta} for a block, by what it holds. */
export function typedBlock(block: JsonObject): JsonObject | undefined {
  return typed(block, HELD);
}

function typed(value: JsonObject, members: Readonly<Record<string, string>>): JsonObject | undefined {
  if (textOf(value.type) !== '') {
    return value;
  }
  const found = Object.entries(members).find(([, member]) => typeof value[member] === 'string');
  return found && { ...value, type: found[0] };
}

/** Returns true for a delta whose text is missing or null, which clients would print as such. */
export function saysNothing(delta: JsonObject): boolean {
  const member = ADDED[textOf(delta.type)];
  return member !== undefined && typeof delta[member] !== 'string';
}

/** Splits an exact block into an empty start and the deltas that fill it. */
export function splitBlock(block: JsonObject): { start: JsonObject; deltas: readonly JsonObject[] } {
  switch (block.type) {
    case 'text':
      return {
        start: merged(block, { text: '' }),
        deltas: filling({ type: 'text_delta', text: block.text }),
      };
    case 'thinking': {
      const { thinking, signature } = block;
      const deltas = filling({ type: 'thinking_delta', thinking }, { type: 'signature_delta', signature });
      return { start: merged(block, { thinking: '', signature: '' }), deltas };
    }
    case 'tool_use': {
      const isGiven = Object.keys(objectOf(block.input)).length > 0;
      const partial_json = isGiven ? JSON.stringify(block.input) : '';
      return {
        start: merged(block, { input: {} }),
        deltas: filling({ type: 'input_json_delta', partial_json }),
      };
    }
    default:
      return { start: block, deltas: [] };
  }
}

function filling(...deltas: readonly JsonObject[]): readonly JsonObject[] {
  return deltas.filter((delta) => !addsNothing(delta));
}

/** Returns true for a delta that adds no text. */
export function addsNothing(delta: JsonObject): boolean {
  const member = ADDED[textOf(delta.type)];
  return member !== undefined && delta[member] === '';
}

/** Returns the block to start for a delta that came without one. Throws {@link ProviderFailure} `malformed` if it cannot be derived. */
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

/** Returns the text and reasoning in the start of a block or in a whole one. */
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

/** Returns the text and reasoning in a delta. */
export function deltaFacts(delta: JsonObject): Pick<Facts, 'text' | 'reasoning'> {
  return {
    text: textOf(delta.text) + textOf(delta.partial_json),
    reasoning: textOf(delta.thinking),
  };
}
