import type { InTurn } from '../lib/event-loop-queue.ts';
import { merged } from '../lib/merged.ts';
import { atOnce, type Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectOf, without } from './json.ts';
import { heldPaths } from './member-paths.ts';
import { OPTIONAL_MEMBERS, OUR_MEMBERS, withoutMembers } from './optional-members.ts';
import type { ProviderDialect } from './provider.types.ts';
import { type FailureReason, ProviderFailure } from './provider-failure.ts';
import { keywordsNamed, toolsWithoutKeywords } from './schema-keywords.ts';
import { withSupportedEffort } from './supported-effort.ts';

/** Times that a request is sent again: some servers name one member at a time. */
const RESENDS_MAX = 5;

/**
 * What servers say of a member that they do not know: "Extra inputs are not permitted" (Anthropic, Fireworks, NVIDIA, Databricks),
 * "Unrecognized request argument supplied" (Azure), "unknown field" (Databricks, Cohere), "Unsupported parameter(s)" (OpenAI, NVIDIA),
 * "property … is unsupported", "is deprecated for this model" (Anthropic).
 */
const DOES_NOT_KNOW =
  /not permitted|extra_forbidden|unknown (?:field|parameter|name|argument|keyword)|unrecognized|unsupported|deprecated|not supported|(?:does not|doesn't) support|not a valid (?:field|parameter)|not allowed|unexpected (?:keyword|field|parameter|property)|additional propert/;
/** What they say of a value: another one may be fine, so the caller has to know … */
const REJECTS_VALUE = /(?:unsupported|invalid) value|supported values|must be|should be/;
/** … unless there is no other: "Only the default (1) value is supported" (OpenAI's reasoning models, under any name of an Azure deployment). */
const ONLY_DEFAULT = /only the default\b/;

/** Failures that may be about a member. Some members are only for accounts that the maker has verified. */
const ABOUT_REQUEST: ReadonlySet<FailureReason> = new Set(['rejected', 'unsupported', 'misconfigured']);

function isAboutRequest(failure: unknown): failure is ProviderFailure {
  return failure instanceof ProviderFailure && ABOUT_REQUEST.has(failure.reason);
}

/** A request that is sent again. */
interface Fitting {
  readonly body: JsonObject;
  /** Paths of what it lacks. */
  readonly paths: readonly string[];
}

/** A change that a server asks for in words of its own. */
interface Amendment {
  readonly words: RegExp;
  /** Returns undefined if there is nothing to change. */
  readonly amend: (body: JsonObject) => Fitting | undefined;
}

const AMENDMENTS: Readonly<Record<ProviderDialect, readonly Amendment[]>> = {
  chat: [
    {
      // OpenAI's reasoning models want the cap by its newer name, wherever they are served. Only where a message begins so: words of the
      // caller in it must not take the cap from a server that knows no other name.
      words: /^unsupported parameter: 'max_tokens' .*'max_completion_tokens'/s,
      amend: (body) =>
        body.max_tokens === undefined
          ? undefined
          : {
              body: merged(without(body, 'max_tokens'), { max_completion_tokens: body.max_tokens }),
              paths: [],
            },
    },
    // GPT from 5.4 on, which also reasons unasked
    { words: /^function tools with reasoning_effort are not supported/, amend: withoutReasoning },
  ],
  messages: [
    // Claude under names that do not tell its version, such as Bedrock's inference profiles
    { words: /^\W*thinking\.type\.enabled\W+is not supported.*adaptive/s, amend: withAdaptiveThinking },
    { words: /`temperature` and `top_p` cannot both be specified/, amend: leavingOut('top_p') },
    { words: /clear_thinking_\d+\W+strategy requires/, amend: leavingOut('context_management') },
  ],
  responses: [
    // OpenAI wants to know an organization before it shows how its models reason
    { words: /must be verified to generate reasoning summaries/, amend: leavingOut('reasoning.summary') },
    { words: /encrypted content is not supported/, amend: leavingOut('include') },
  ],
};

function leavingOut(path: string): Amendment['amend'] {
  return (body) => leftOut(body, atOnce(heldPaths(body, [path])));
}

function withoutReasoning(body: JsonObject): Fitting | undefined {
  return body.reasoning_effort === 'none'
    ? undefined
    : { body: merged(body, { reasoning_effort: 'none' }), paths: ['reasoning_effort'] };
}

function withAdaptiveThinking(body: JsonObject): Fitting | undefined {
  const { type, budget_tokens: _, ...rest } = objectOf(body.thinking);
  return type === 'enabled'
    ? { body: merged(body, { thinking: { ...rest, type: 'adaptive' } }), paths: ['thinking.budget_tokens'] }
    : undefined;
}

function leftOut(body: JsonObject, paths: readonly string[]): Fitting | undefined {
  return paths.length === 0 ? undefined : { body: withoutMembers(body, paths), paths };
}

/**
 * Returns a rejected request without the optional members that the failure names as unknown, and their paths, or as the failure asks for it.
 * Undefined if it names none. The caller's own words can stand in a message, too: then the request without the member is rejected again.
 */
export function* withoutRefusedMembers(
  dialect: ProviderDialect,
  body: JsonObject,
  failure: unknown,
): Steps<Fitting | undefined> {
  if (!isAboutRequest(failure)) {
    return undefined;
  }
  const words = failure.said.toLowerCase();
  for (const amendment of AMENDMENTS[dialect]) {
    const amended = amendment.words.test(words) ? amendment.amend(body) : undefined;
    if (amended) {
      return amended;
    }
  }
  if (failure.reason === 'misconfigured') {
    return undefined;
  }
  const other = withSupportedEffort(dialect, body, words);
  if (other || !DOES_NOT_KNOW.test(words)) {
    return other;
  }
  const tools = OF_A_SCHEMA.test(words)
    ? yield* toolsWithoutKeywords(body.tools, keywordsNamed(words))
    : undefined;
  if (tools) {
    return { body: merged(body, { tools }), paths: [SCHEMAS[dialect]] };
  }
  const isOfValue = REJECTS_VALUE.test(words) && !ONLY_DEFAULT.test(words);
  return isOfValue ? undefined : leftOut(body, yield* namedMembers(dialect, body, words));
}

/**
 * Servers that know a part of JSON schema: Gemini's ("Unknown name "exclusiveMinimum" at 'tools[0].function_declarations[0].parameters…'"),
 * others ("tools[0].function.parameters contains unsupported field $schema").
 */
const OF_A_SCHEMA = /function_declarations|parameters|schema/;

/** Where tools have their schemas. */
const SCHEMAS: Readonly<Record<ProviderDialect, string>> = {
  chat: 'tools[].function.parameters',
  messages: 'tools[].input_schema',
  responses: 'tools[].parameters',
};

interface Sending {
  readonly dialect: ProviderDialect;
  readonly body: JsonObject;
  /** Runs the search for members in turns with the work of other callers. */
  readonly inTurn: InTurn;
  /** Called with the paths of what the server got the request without, once it has accepted it. */
  readonly onLeftOut: (paths: readonly string[]) => void;
}

/**
 * Sends a request, and again without the optional members that its server rejects by name. Throws what `send` throws of a request that
 * is rejected for another reason. Nothing is remembered: a caller's request must not decide what the server gets of others.
 */
export async function sentWithoutRefusedMembers<T>(
  { dialect, body, inTurn, onLeftOut }: Sending,
  send: (body: JsonObject) => Promise<T>,
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
      const mayFit = isAboutRequest(error) && resends < RESENDS_MAX;
      const fitting = mayFit ? await inTurn(withoutRefusedMembers(dialect, sent, error)) : undefined;
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

/** Returns the paths of the members of the request that words name, and that may be left out. */
function* namedMembers(dialect: ProviderDialect, body: JsonObject, words: string): Steps<string[]> {
  const optional: readonly string[] = [...OPTIONAL_MEMBERS[dialect], ...OUR_MEMBERS[dialect]];
  const held = yield* heldPaths(body, optional);
  return held.filter((path) => {
    const [root = '', ...steps] = path.split('.');
    const name = steps.at(-1);
    if (name === undefined) {
      return placesNamed(words, root).includes('');
    }
    const places = placesNamed(words, name);
    const isAnywhere = places.includes('') && body[name] === undefined;
    return (
      isAnywhere || places.includes(root.replace('[]', '')) || isNamedAsWhole(body, root, optional, words)
    );
  });
}

/** Returns whether words name an object of the request that holds nothing but optional members: "output_config: Extra inputs …". */
function isNamedAsWhole(body: JsonObject, root: string, optional: readonly string[], words: string): boolean {
  const object = body[root];
  return (
    isObject(object) &&
    !optional.includes(root) &&
    Object.keys(object).every((name) => optional.includes(`${root}.${name}`)) &&
    placesNamed(words, root).includes('')
  );
}

/** Members at the top of requests that hold others. Other words before a name, such as `body`, say nothing about its place. */
const PLACES = new Set([
  'messages',
  'system',
  'tools',
  'input',
  'thinking',
  'output_config',
  'reasoning',
  'text',
]);

/**
 * Returns where words name a member: `tools` for "tools.3.custom.strict" or "tools[3].strict", nothing for a bare name. Also in the form
 * of xAI (`reasoningEffort`). What the name is only the beginning of ("thinking.display") is another member.
 */
function placesNamed(words: string, name: string): string[] {
  const spellings = `(?:${name}|${name.replaceAll('_', '')})`;
  const mention = new RegExp(
    `(?<![\\w$.])((?:[\\w$]+(?:\\[\\d+\\])*\\.)*)${spellings}(?!\\w|\\.\\w|\\[)`,
    'g',
  );
  return [...words.matchAll(mention)].map(([, path = '']) => {
    const [place = ''] = path.split(/[.[]/, 1);
    return PLACES.has(place) ? place : '';
  });
}
