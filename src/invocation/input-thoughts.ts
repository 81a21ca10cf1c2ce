import { textOfDetails } from '../providers/chat-message.ts';
import { type JsonObject, objectOf, objectsOf, textOf, without } from '../providers/json.ts';
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

const CLEARS_RESULTS = 'clear_tool_uses';

/**
 * Returns the types of blocks that a request's `context_management` lets the provider clear. It clears the oldest ones, as many as it
 * wants, before the model reads the prompt, and bills the rest (platform.claude.com/docs, "Context editing").
 */
export function clearedBlocks(management: unknown): ReadonlySet<unknown> {
  const edits = objectsOf(objectOf(management).edits).filter(({ type }) =>
    textOf(type).startsWith(CLEARS_RESULTS),
  );
  const cleared = new Set<unknown>(edits.length > 0 ? ['tool_result'] : []);
  if (edits.some(({ clear_tool_inputs: inputs }) => inputs === true || Array.isArray(inputs))) {
    cleared.add('tool_use');
  }
  return cleared;
}

/** Counts texts of a block, those from `start` on, as what a provider may drop, if it may clear blocks of that type. */
export function moveToThoughts(type: unknown, start: number, into: Collected): void {
  if (into.cleared.has(type)) {
    for (const text of into.texts.splice(start)) {
      into.thoughts.push(text);
    }
  }
}
