import { textOfDetails } from '../providers/chat-message.ts';
import { type JsonObject, objectsOf, without } from '../providers/json.ts';
import { type Collected, collectOther } from './input-media.ts';

/** Members in which clients send the reasoning of an earlier turn back. Many send the same text in several of them. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details'] as const;

/**
 * Collects the reasoning that a message repeats. A provider reads one of the members, so the longest counts; the others are left to the
 * caller. Returns the name of the member that was collected.
 */
export function collectThought(message: JsonObject, into: Collected): string | undefined {
  let longest = '';
  let found: string | undefined;
  for (const name of THOUGHTS) {
    const value = message[name];
    if (value === undefined) {
      continue;
    }
    const text = thoughtText(value);
    if (text.length > longest.length) {
      longest = text;
      found = name;
    }
  }
  if (found === undefined) {
    return undefined;
  }
  into.thoughts.push(longest);
  if (typeof message[found] !== 'string') {
    // their ids and signatures
    const rest = objectsOf(message[found]).map((detail) => without(detail, 'text', 'summary'));
    collectOther(found, rest, into);
  }
  return found;
}

function thoughtText(value: unknown): string {
  return typeof value === 'string' ? value : textOfDetails(value);
}
