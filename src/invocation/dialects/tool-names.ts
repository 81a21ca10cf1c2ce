import { createHash } from 'node:crypto';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { addedTools } from './system-turns.ts';

/** OpenAI's limit on function names, shared by most compatible servers. Messages allow 128. */
const CHAT_LENGTH_MAX = 64;
/** Hex digits of the hash that keeps shortened names apart. */
const HASH_LENGTH = 8;

/** Returns a tool name that chat providers accept. A longer name keeps its beginning and gets a hash, deterministically. */
export function shortToolName(name: string): string {
  if (name.length <= CHAT_LENGTH_MAX) {
    return name;
  }
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, CHAT_LENGTH_MAX - HASH_LENGTH - 1)}_${hash}`;
}

/** Maps each shortened tool name to the original name, for the tools of a messages request whose names are too long for chat providers. */
export function* longToolNames(body: JsonObject): Steps<ReadonlyMap<string, string>> {
  const tools = [...objectsOf(body.tools), ...addedTools(body.messages)];
  const long = tools.map(({ name }) => textOf(name)).filter((name) => name.length > CHAT_LENGTH_MAX);
  return new Map(yield* mapInSteps(long, (name): [string, string] => [shortToolName(name), name]));
}
