import { merged } from '../../lib/merged.ts';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { REASONING_MEMBERS } from '../../providers/chat-message.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import type { KnownMembers } from '../../providers/known-members.ts';
import type { RequestDialect } from '../../providers/provider.types.ts';
import type { ToolIdForm } from './tool-ids.ts';

/** Members that we act on ourselves: we convert vectors to the requested form. */
export const OURS: ReadonlySet<string> = new Set(['include_reasoning', 'encoding_format']);

/** Names of one setting, of which a server knows one. */
const SYNONYMS: readonly (readonly [name: string, other: string])[] = [
  ['seed', 'random_seed'],
  ['random_seed', 'seed'],
  ['dimensions', 'output_dimension'],
];

/** Removes the members that a server rejects because it does not know them, and renames those that it knows by another name. */
export function withKnownMembers(body: JsonObject, known: readonly string[] | undefined): JsonObject {
  if (!known) {
    return body;
  }
  let named = body;
  for (const [name, other] of SYNONYMS) {
    if (named[name] !== undefined && !known.includes(name) && known.includes(other)) {
      named = merged(without(named, name), { [other]: named[name] });
    }
  }
  return without(named, ...Object.keys(named).filter((name) => !known.includes(name)));
}

/** Returns the members of a request that a server does not get because it does not know them. */
export function unknownMembers(
  body: JsonObject,
  from: RequestDialect,
  members: KnownMembers | undefined,
): string[] {
  if (!members || from === 'rerank') {
    return [];
  }
  if (from === 'messages') {
    return !members.chat.includes('user') && objectOf(body.metadata).user_id !== undefined
      ? ['metadata.user_id']
      : [];
  }
  const known = members[from];
  const isSaidOtherwise = (name: string) =>
    SYNONYMS.some(([one, other]) => one === name && known.includes(other)) ||
    (name === 'reasoning' && typeof objectOf(body.reasoning).effort === 'string');
  return Object.keys(body).filter(
    (name) => !known.includes(name) && !OURS.has(name) && !isSaidOtherwise(name),
  );
}

/** Removes from the messages and tools of a chat request what a strict server does not know. */
export function* forStrictServer(body: JsonObject, maker: ToolIdForm): Steps<JsonObject> {
  const isMistral = maker === 'mistral';
  const messages = yield* mapInSteps(objectsOf(body.messages), (given) => {
    const message = isMistral ? withoutName(given) : given;
    return withoutOthersMembers(maker === 'openai' ? message : withRefusalAsText(message));
  });
  const tools = Array.isArray(body.tools) && {
    tools: plainTools(body.tools),
  };
  return merged(body, { messages, ...tools });
}

/** Gives what the model refused in an earlier turn as its text: only OpenAI's server knows another place for it. */
function withRefusalAsText(message: JsonObject): JsonObject {
  const { content } = message;
  const refusal = textOf(message.refusal);
  const said = Array.isArray(content) ? content.map(plainPart) : content;
  const more = Array.isArray(said) ? [...said, { type: 'text', text: refusal }] : textOf(said) + refusal;
  return merged(without(message, 'refusal'), {
    ...(content !== undefined && { content: said }),
    ...(refusal !== '' && { content: more }),
  });
}

function plainPart(part: unknown): unknown {
  const { type, refusal } = objectOf(part);
  return type === 'refusal' ? { type: 'text', text: textOf(refusal) } : part;
}

/**
 * Removes what other models gave the earlier turns or want with them, and clients send to all: reasoning, signatures, marks of what to
 * cache. Strict servers answer 400 to any of it.
 */
function withoutOthersMembers(message: JsonObject): JsonObject {
  const { content, tool_calls: calls } = message;
  return {
    ...without(message, ...REASONING_MEMBERS, 'cache_control'),
    ...(Array.isArray(content) && { content: content.map(uncached) }),
    ...(Array.isArray(calls) && { tool_calls: objectsOf(calls).map(unsigned) }),
  };
}

/** Mistral names only the tools whose results it gets. */
function withoutName(message: JsonObject): JsonObject {
  return message.role === 'tool' ? message : without(message, 'name');
}

function uncached(part: unknown): unknown {
  return isObject(part) ? without(part, 'cache_control') : part;
}

function unsigned(call: JsonObject): JsonObject {
  const plain = without(call, 'extra_content', 'thought_signature');
  return isObject(plain.function)
    ? { ...plain, function: without(plain.function, 'thought_signature') }
    : plain;
}

function plainTools(tools: readonly unknown[]): JsonObject[] {
  return objectsOf(tools).map((tool) => {
    const plain = without(tool, 'cache_control');
    return isObject(plain.function)
      ? { ...plain, function: without(plain.function, 'cache_control') }
      : plain;
  });
}
