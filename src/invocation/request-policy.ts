import { IgnoredMembers } from '../http/input/ignored-members.ts';
import { AppError } from '../lib/errors.ts';
import type { Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../providers/json.ts';
import type { RequestDialect } from '../providers/provider.types.ts';
import { addedTools } from './dialects/system-turns.ts';
import { chatToolName, readChatToolPolicy, readMessagesToolPolicy } from './dialects/tool-choices.ts';
import { CHAT_MEMBERS } from './members/chat-members.ts';
import { JSON_VALUE, list, type Members, NUMBER, siftInSteps, TEXT } from './members/member-shape.ts';
import { MESSAGES_MEMBERS } from './members/messages-members.ts';

/** Members that we handle ourselves. The adapters set the corresponding members of the provider's request. */
export const OWN_MEMBERS: Readonly<Record<RequestDialect, ReadonlySet<string>>> = {
  chat: new Set([
    'model',
    'models',
    'stream',
    'stream_options',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'usage',
  ]),
  messages: new Set(['model', 'stream', 'max_tokens']),
  embeddings: new Set(['model']),
  rerank: new Set(['model', 'return_documents']),
};

/** Members that model routers accept in every dialect and that change the answer. Ignoring them silently would mislead the caller. */
const ROUTER_MEMBERS = ['plugins', 'preset'];

/** Members that make a provider bill for more than tokens, or answer from more or less than the request. */
const REFUSED_MEMBERS: Readonly<Record<RequestDialect, readonly string[]>> = {
  chat: [
    ...ROUTER_MEMBERS,
    'moderation',
    'web_search_options',
    'search_parameters',
    'enable_search',
    'search_options',
    'data_sources',
    'audio',
    'modalities',
    'best_of',
  ],
  messages: [...ROUTER_MEMBERS, 'models', 'container', 'inference_geo', 'speed', 'fallbacks'],
  embeddings: [...ROUTER_MEMBERS, 'models'],
  rerank: [...ROUTER_MEMBERS, 'models'],
};

/** Restrictions in OpenRouter's `provider`. Its preferences (`order`, `sort`, `require_parameters`) are only reported as left out. */
const ROUTING_BANS: Readonly<Record<string, (value: unknown) => boolean>> = {
  only: isListed,
  ignore: isListed,
  quantizations: isListed,
  max_price: isListed,
  allow_fallbacks: (value) => value === false,
  zdr: (value) => value === true,
  enforce_distillable_text: (value) => value === true,
  data_collection: (value) => value === 'deny',
};

/** Anthropic's tools that the client runs. Every other type runs at the provider or may do so one day. */
const CLIENT_TOOLS = /^(?:custom|bash|text_editor|computer|browser|memory)(?:_|$)/;

export interface AdmissibleRequest {
  /** The members that may reach a provider. */
  readonly body: JsonObject;
  /** The other members, unchanged, for providers that let some of them through. */
  readonly others: JsonObject;
  /** Paths of the members left out. */
  readonly ignored: readonly string[];
}

const MEMBERS: Readonly<Record<RequestDialect, Members>> = {
  chat: CHAT_MEMBERS,
  messages: MESSAGES_MEMBERS,
  embeddings: { input: JSON_VALUE, dimensions: NUMBER, encoding_format: TEXT, user: TEXT },
  rerank: { query: TEXT, documents: list(TEXT), top_n: NUMBER, max_tokens_per_doc: NUMBER, user: TEXT },
};

/**
 * Strips a request of the members that we set ourselves, of empty members and of every member that is not on its dialect's list. Throws
 * AppError invalid_parameter for anything that cannot be metered or has the wrong type, unsupported_input for content of an unknown type.
 */
export function* applyRequestPolicy(dialect: RequestDialect, body: JsonObject): Steps<AdmissibleRequest> {
  for (const name of REFUSED_MEMBERS[dialect]) {
    if (!isHarmless(name, body)) {
      throw new AppError('invalid_parameter', `${name}: is not supported here; leave it out`);
    }
  }
  requireOpenRouting(body.provider);
  requireClientTools(dialect, body.tools);
  if (dialect === 'messages') {
    requireClientTools(dialect, addedTools(body.messages));
  }
  requireOfferedTool(dialect, body);
  yield undefined;
  const known: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  const ignored = new IgnoredMembers();
  const members = MEMBERS[dialect];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined || value === null || OWN_MEMBERS[dialect].has(name)) {
      continue;
    }
    if (Object.hasOwn(members, name)) {
      known[name] = value;
    } else {
      others[name] = value;
      ignored.add(name);
    }
  }
  const sifted = yield* siftInSteps(known, members, ignored);
  return { body: sifted, others, ignored: ignored.paths };
}

/** Returns true for a member that requests nothing: absent, or with a value that means plain text and no search. */
function isHarmless(name: string, body: JsonObject): boolean {
  const value = body[name];
  if (value === undefined || value === null || value === false) {
    return true;
  }
  switch (name) {
    case 'modalities':
      return Array.isArray(value) && value.every((item) => item === 'text');
    case 'search_parameters':
      return isObject(value) && value.mode === 'off';
    case 'plugins':
      return Array.isArray(value) && objectsOf(value).every(({ enabled }) => enabled === false);
    case 'models':
      return Array.isArray(value) && value.every((id) => id === body.model);
    default:
      return false;
  }
}

/** Rejects restrictions on providers: a caller that limits who may see a prompt, or what it may cost, must not be served by others. */
function requireOpenRouting(provider: unknown): void {
  for (const [name, value] of Object.entries(objectOf(provider))) {
    if (ROUTING_BANS[name]?.(value)) {
      throw new AppError(
        'invalid_parameter',
        `provider.${name}: is not supported here; the operator decides which providers serve a model`,
      );
    }
  }
}

function isListed(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
}

function requireClientTools(dialect: RequestDialect, tools: unknown): void {
  for (const [index, tool] of objectsOf(tools).entries()) {
    const clientRun = dialect === 'chat' ? isChatTool(tool) : isMessagesTool(tool);
    if (!clientRun) {
      const named = textOf(tool.type).slice(0, 64);
      if (dialect === 'chat' && (named === 'function' || named === 'custom')) {
        throw new AppError('invalid_parameter', `tools[${index}].${named}: must be an object with a name`);
      }
      throw new AppError(
        'invalid_parameter',
        `tools[${index}]${named === '' ? '' : `.type ${JSON.stringify(named)}`}: only tools that the caller runs are supported`,
      );
    }
  }
}

/** Rejects a choice of a missing tool. Every provider would reject it too, each in its own words. */
function requireOfferedTool(dialect: RequestDialect, body: JsonObject): void {
  const policy = dialect === 'messages' ? readMessagesToolPolicy(body) : readChatToolPolicy(body);
  const wanted = policy.mode === 'tool' ? [policy.name ?? ''] : (policy.allowed ?? []);
  const offered = new Set([...objectsOf(body.tools), ...addedTools(body.messages)].map(chatToolName));
  if (policy.mode === 'any' && offered.size === 0) {
    throw new AppError('invalid_parameter', 'tool_choice: requires a tool, and there are none in tools');
  }
  // a toolset does not list its members
  const missing = offered.has('') ? undefined : wanted.find((name) => !offered.has(name));
  if (missing !== undefined) {
    const named = JSON.stringify(missing.slice(0, 64));
    throw new AppError('invalid_parameter', `tool_choice: there is no tool ${named} in tools`);
  }
}

function isChatTool(tool: JsonObject): boolean {
  const type = tool.type ?? 'function';
  const named = textOf(objectOf(tool.function).name) !== '' || textOf(objectOf(tool.custom).name) !== '';
  return (type === 'function' || type === 'custom') && named;
}

function isMessagesTool(tool: JsonObject): boolean {
  const type = tool.type ?? 'custom';
  return typeof type === 'string' && CLIENT_TOOLS.test(type);
}
