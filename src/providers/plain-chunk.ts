import { isObject, type JsonObject } from './json.ts';

/**
 * Fast path for most chunks: returns the text of a chunk that is already normalized and holds nothing but text, i.e. every other member is
 * known to be irrelevant or was already passed on. Returns undefined for any other chunk.
 */
export function plainText(event: JsonObject, fingerprint: unknown): string | undefined {
  for (const name in event) {
    switch (name) {
      case 'choices':
      case 'id':
      case 'object':
      case 'created':
      case 'model':
      case 'service_tier':
      case 'provider':
      case 'obfuscation':
        break;
      default:
        if (event[name] !== null && (name !== 'system_fingerprint' || event[name] !== fingerprint)) {
          return undefined;
        }
    }
  }
  const { choices } = event;
  return Array.isArray(choices) && choices.length === 1 ? plainDelta(choices[0]) : undefined;
}

function plainDelta(choice: unknown): string | undefined {
  if (!isObject(choice) || choice.index !== 0) {
    return undefined;
  }
  for (const name in choice) {
    if (name !== 'index' && name !== 'delta' && choice[name] !== null) {
      return undefined;
    }
  }
  const { delta } = choice;
  if (!isObject(delta) || typeof delta.content !== 'string') {
    return undefined;
  }
  for (const name in delta) {
    if (name !== 'content' && name !== 'role' && delta[name] !== null) {
      return undefined;
    }
  }
  return delta.content;
}
