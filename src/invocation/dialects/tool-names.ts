import { createHash } from 'node:crypto';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { addedTools } from './system-turns.ts';

/** OpenAI's limit on the name of a function, which most of its kin share; messages take 128. */
const CHAT_LENGTH_MAX = 64;
/** Hex digits of the hash that keeps two shortened names apart. */
const HASH_LENGTH = 8;

/** A tool's name as a chat provider accepts it: a longer one keeps its beginning and gets a hash, always the same. */
export function shortToolName(name: string): string {
  if (name.length <= CHAT_LENGTH_MAX) {
    return name;
  }
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, CHAT_LENGTH_MAX - HASH_LENGTH - 1)}_${hash}`;
}

/** The names of a messages request's tools that a chat provider knows by a shorter one, by that. */
export function* longToolNames(body: JsonObject): Steps<ReadonlyMap<string, string>> {
  const tools = [...objectsOf(body.tools), ...addedTools(body.messages)];
  const long = tools.map(({ name }) => textOf(name)).filter((name) => name.length > CHAT_LENGTH_MAX);
  return new Map(yield* mapInSteps(long, (name): [string, string] => [shortToolName(name), name]));
}
