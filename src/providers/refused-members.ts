import { merged } from '../lib/merged.ts';
import { REASONING_MEMBERS } from './chat-message.ts';
import { type JsonObject, objectOf, objectsOf, without } from './json.ts';
import { ProviderFailure } from './provider-failure.ts';

/**
 * Members of a chat request that an answer is as good without, or nearly. Not among them: what the caller may rely on, such as tools, the
 * format and stop sequences, and what caps the output and so its price.
 */
export const OPTIONAL_MEMBERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'parallel_tool_calls',
  'verbosity',
  'reasoning',
  'reasoning_effort',
  'thinking',
] as const;

/** The question for the usage of a stream, which we add. */
export const STREAM_OPTIONS = 'stream_options';

/** Members that nobody misses: the question above, and the form of vectors, which we convert. */
const OURS = [STREAM_OPTIONS, 'encoding_format'];

/** The same inside messages and tools, by their paths. */
const STRICT = 'tools[].function.strict';
const EARLIER_REASONING = [...REASONING_MEMBERS, 'thinking_blocks'];

/** Times that a request is sent again: some servers name one member at a time. */
const RESENDS_MAX = 5;

/**
 * What servers say of a member that they do not know: "Extra inputs are not permitted" (Fireworks, NVIDIA, Databricks), "Unrecognized
 * request argument supplied" (Azure), "unknown field" (Databricks, Cohere), "Unsupported parameter(s)" (NVIDIA), "property … is unsupported".
 */
const DOES_NOT_KNOW =
  /not permitted|extra_forbidden|unknown (?:field|parameter|name|argument)|unrecognized|unsupported|not supported|(?:does not|doesn't) support|not a valid (?:field|parameter)|not allowed|unexpected (?:keyword|field|parameter|property)|additional propert/;
/** What they say of a value: another one may be fine, so the caller has to know … */
const REJECTS_VALUE = /(?:unsupported|invalid) value|supported values|must be|should be/;
/** … unless there is no other: "Only the default (1) value is supported" (OpenAI's reasoning models, under any name of an Azure deployment). */
const ONLY_DEFAULT = /only the default\b/;
/**
 * The same models want the cap by its newer name, wherever they are served. Only where a message begins so: words of the caller in it must not
 * take the cap from a server that knows no other name.
 */
const NEWER_CAP = /^unsupported parameter: 'max_tokens' .*'max_completion_tokens'/s;

/**
 * Returns a rejected request without the optional members that the failure names as unknown, and their paths, or with its cap under the
 * name that the failure asks for. Undefined if it names none. The caller's own words can stand in a message, too: then the request without
 * the member is rejected again.
 */
export function withoutRefusedMembers(
  body: JsonObject,
  failure: unknown,
): { readonly body: JsonObject; readonly paths: readonly string[] } | undefined {
  if (!(failure instanceof ProviderFailure) || !['rejected', 'unsupported'].includes(failure.reason)) {
    return undefined;
  }
  const words = failure.said.toLowerCase();
  const isOfValue = REJECTS_VALUE.test(words) && !ONLY_DEFAULT.test(words);
  if (!DOES_NOT_KNOW.test(words) || isOfValue) {
    return undefined;
  }
  if (NEWER_CAP.test(words) && body.max_tokens !== undefined) {
    const renamed = merged(without(body, 'max_tokens'), { max_completion_tokens: body.max_tokens });
    return { body: renamed, paths: [] };
  }
  const named = [...OPTIONAL_MEMBERS, ...OURS].filter(
    (name) => body[name] !== undefined && names(words, name),
  );
  const inner = innerMembers(body, words);
  if (named.length === 0 && inner.paths.length === 0) {
    return undefined;
  }
  return { body: without(inner.body, ...named), paths: [...named, ...inner.paths] };
}

/**
 * Sends a request, and again without the optional members that its server rejects by name. Throws what `send` throws of a request that
 * is rejected for another reason. Nothing is remembered: a caller's request must not decide what the server gets of others.
 */
export async function sentWithoutRefusedMembers<T>(
  body: JsonObject,
  send: (body: JsonObject) => Promise<T>,
  onLeftOut: (paths: readonly string[]) => void,
): Promise<T> {
  let sent = body;
  const paths: string[] = [];
  for (let resends = 0; ; resends += 1) {
    try {
      const answer = await send(sent);
      if (paths.length > 0) {
        onLeftOut(paths);
      }
      return answer;
    } catch (error) {
      const fitting = resends < RESENDS_MAX ? withoutRefusedMembers(sent, error) : undefined;
      if (!fitting) {
        throw error;
      }
      sent = fitting.body;
      paths.push(...fitting.paths);
    }
  }
}

/**
 * Returns the `anthropic-beta` values that a failure does not name ("Unexpected value(s) `…` for the `anthropic-beta` header": Vertex AI,
 * Bedrock and gateways to them). Undefined if it names none.
 */
export function withoutRefusedBetas(
  betas: readonly string[],
  failure: unknown,
): readonly string[] | undefined {
  if (!(failure instanceof ProviderFailure) || failure.reason !== 'rejected') {
    return undefined;
  }
  const words = failure.said.toLowerCase();
  const kept = betas.filter((beta) => !words.includes(beta));
  return words.includes('beta') && kept.length < betas.length ? kept : undefined;
}

/** Whether a text names a member, also in the form of xAI (`reasoningEffort`). */
function names(words: string, name: string): boolean {
  return new RegExp(`(?<!\\w)(?:${name}|${name.replaceAll('_', '')})(?!\\w)`).test(words);
}

function innerMembers(
  body: JsonObject,
  words: string,
): { readonly body: JsonObject; readonly paths: readonly string[] } {
  const paths: string[] = [];
  let kept = body;
  const tools = objectsOf(body.tools);
  if (names(words, 'strict') && tools.some((tool) => strictOf(tool) !== undefined)) {
    kept = merged(kept, { tools: tools.map(withoutStrict) });
    paths.push(STRICT);
  }
  const messages = objectsOf(body.messages);
  const refused = EARLIER_REASONING.filter(
    (name) => names(words, name) && messages.some((message) => message[name] !== undefined),
  );
  if (refused.length > 0) {
    kept = merged(kept, { messages: messages.map((message) => without(message, ...refused)) });
    paths.push(...refused.map((name) => `messages[].${name}`));
  }
  return { body: kept, paths };
}

function strictOf(tool: JsonObject): unknown {
  return objectOf(tool.function).strict;
}

function withoutStrict(tool: JsonObject): JsonObject {
  return strictOf(tool) === undefined
    ? tool
    : merged(tool, { function: without(objectOf(tool.function), 'strict') });
}
