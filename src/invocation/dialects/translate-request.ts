import { merged } from '../../lib/merged.ts';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { REASONING_MEMBERS } from '../../providers/chat-message.ts';
import { isObject, type JsonObject, objectOf, objectsOf, without } from '../../providers/json.ts';
import { ENCRYPTED_REASONING } from '../../providers/output-deltas.ts';
import type { Dialect, ProviderDialect, RequestDialect } from '../../providers/provider.types.ts';
import { CLEARED_TURNS, TURN_EFFORTS, withoutLockedMembers } from './anthropic-betas.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { chatRequestToResponses } from './chat-request-to-responses.ts';
import { chatPlan, inChatPlan, reasoningIn, topEffort } from './chat-thinking.ts';
import { claudeRequest } from './claude-request.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import type { ModelRules } from './model-rules.ts';
import { withKnownMembers } from './only-known-members.ts';
import { hasClearing, withoutClearedTurns } from './system-turns.ts';
import { thinkingOfDetails } from './thinking-details.ts';
import {
  chatToolChoice,
  messagesToolChoice,
  readChatToolPolicy,
  readMessagesToolPolicy,
} from './tool-choices.ts';
import { withToolIds } from './tool-ids.ts';
import { hasTurnSettings, withoutTurnEfforts, withTurnEfforts } from './turn-efforts.ts';
import { untranslatable } from './untranslatable.ts';

const CHAT_WORDS = new Set(['auto', 'none', 'required']);

export interface RequestTranslation {
  readonly from: RequestDialect;
  readonly to: ProviderDialect;
  /** The original request when it came in the Responses dialect. */
  readonly native?: JsonObject | undefined;
  readonly maxOutputTokens: number;
  readonly reasoning: boolean;
  readonly rules: ModelRules;
  /** Betas of a messages request that are passed on. */
  readonly betas: readonly string[];
}

/** Translates a request into the provider's dialect and the form its model accepts. Nearly unchanged when both use the same dialect. */
export function* translateRequest(given: JsonObject, translation: RequestTranslation): Steps<JsonObject> {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  const body = from === 'messages' ? withTurnSettings(given, translation) : given;
  if (from === 'embeddings' || from === 'rerank') {
    if (to !== 'chat') {
      throw untranslatable(from);
    }
    return body;
  }
  if (to === 'messages') {
    const translated =
      from === 'messages'
        ? normalizeRequest(withoutLockedMembers(body, translation.betas), to)
        : yield* chatRequestToMessages(body, maxOutputTokens, rules);
    return yield* claudeRequest({ body: translated, rules, maxOutputTokens });
  }
  if (to === 'responses' && translation.native) {
    return withReasoning(without(translation.native, ...rules.drop), translation);
  }
  if (to === 'responses' && from === 'chat') {
    const chat = yield* fitting(body, rules);
    return withReasoning(yield* chatRequestToResponses(chat), translation);
  }
  const translated =
    from === 'chat'
      ? normalizeRequest(body, 'chat')
      : yield* messagesRequestToChat(body, {
          maxOutputTokens,
          reasoning,
          topEffort: topEffort(rules.chat),
          needsReasoningBack: rules.needsReasoningBack,
          details: detailFormats(translation),
          stopsMax: rules.stopsMax,
        });
  if (to === 'chat') {
    const plan = yield* chatPlan(body, from, rules.chat);
    const planned = inChatPlan(yield* forChatServer(translated, rules), plan, rules.chat);
    return yield* fitting(withKnownMembers(planned, rules.knownMembers), rules);
  }
  const chat = yield* fitting(translated, rules);
  return withReasoning(yield* chatRequestToResponses(chat), translation);
}

/**
 * Leaves efforts on system turns, and how long these are shown, to models that know them, which keeps their cache. The request of others
 * gets the effort in force, and the turns that are still shown.
 */
function withTurnSettings(body: JsonObject, { to, rules, betas }: RequestTranslation): JsonObject {
  const knows = (beta: string) => to === 'messages' && rules.takesTurnEfforts && betas.includes(beta);
  const shown = hasClearing(body) && !knows(CLEARED_TURNS) ? withoutClearedTurns(body) : body;
  if (!hasTurnSettings(shown)) {
    return shown;
  }
  return knows(TURN_EFFORTS) ? withTurnEfforts(shown) : withoutTurnEfforts(shown);
}

/** Returns the formats of earlier reasoning that a request to a chat or Responses provider may hold. */
export function detailFormats({ to, rules }: RequestTranslation): readonly string[] {
  return to === 'responses' ? [ENCRYPTED_REASONING] : rules.details;
}

/** Removes what the model rejects from a chat request and rewrites tool call ids to a form it accepts. */
function* fitting(body: JsonObject, rules: ModelRules): Steps<JsonObject> {
  const dropped = rules.drop.length === 0 ? body : without(body, ...rules.drop);
  const kept = rules.details.includes('anthropic-claude')
    ? merged(dropped, { messages: yield* mapInSteps(objectsOf(dropped.messages), withThinkingBlocks) })
    : dropped;
  return rules.toolIds === 'any'
    ? kept
    : merged(kept, { messages: yield* withToolIds(kept.messages, rules.toolIds) });
}

/** Gives a chat request to a chat provider the members that its server knows, and the earlier reasoning the form that its model wants. */
function* forChatServer(body: JsonObject, rules: ModelRules): Steps<JsonObject> {
  if (rules.isStrict) {
    const isMistral = rules.toolIds === 'mistral';
    const unknown = rules.toolIds === 'openai' ? REASONING_MEMBERS : UNKNOWN_TO_MOST;
    const messages = yield* mapInSteps(objectsOf(body.messages), (message) =>
      withoutOthersMembers(isMistral ? withoutName(message) : message, unknown),
    );
    const tools = Array.isArray(body.tools) && {
      tools: plainTools(body.tools, isMistral ? NO_PARAMETERS : {}),
    };
    return merged(body, { messages, ...tools });
  }
  return rules.needsReasoningBack
    ? merged(body, { messages: yield* mapInSteps(objectsOf(body.messages), withEarlierReasoning) })
    : body;
}

/** `refusal` is a member of OpenAI's answers only. */
const UNKNOWN_TO_MOST = [...REASONING_MEMBERS, 'refusal'];

/**
 * Removes what other models gave the earlier turns or want with them, and clients send to all: reasoning, signatures, marks of what to
 * cache. Strict servers answer 400 to any of it.
 */
function withoutOthersMembers(message: JsonObject, unknown: readonly string[]): JsonObject {
  const { content, tool_calls: calls } = message;
  return {
    ...without(message, ...unknown, 'cache_control'),
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

/** What Mistral requires of a function without parameters. */
const NO_PARAMETERS: JsonObject = { parameters: { type: 'object', properties: {} } };

function plainTools(tools: readonly unknown[], defaults: JsonObject): JsonObject[] {
  return objectsOf(tools).map((tool) => {
    const plain = without(tool, 'cache_control');
    return isObject(plain.function)
      ? { ...plain, function: { ...defaults, ...without(plain.function, 'cache_control') } }
      : plain;
  });
}

/**
 * Gives the reasoning of an earlier turn as `reasoning_content`. Our answers have it under several names, and clients send back the one
 * they know.
 */
function withEarlierReasoning(message: JsonObject): JsonObject {
  const text = reasoningIn(message);
  return text === '' || message.reasoning_content === text
    ? message
    : { ...without(message, 'reasoning'), reasoning_content: text };
}

/** Repeats Claude's signed reasoning under the name by which LiteLLM takes it. OpenRouter takes `reasoning_details`. */
function withThinkingBlocks(message: JsonObject): JsonObject {
  const blocks = thinkingOfDetails(message.reasoning_details);
  return blocks.length === 0 ? message : merged(message, { thinking_blocks: blocks });
}

/**
 * Requests encrypted reasoning. Nothing is stored at providers, so a reasoning model has to return its reasoning; other models reject the
 * request for it.
 */
function withReasoning(body: JsonObject, { reasoning, rules }: RequestTranslation): JsonObject {
  return reasoning || rules.reasons || body.reasoning !== undefined
    ? merged(body, { include: ['reasoning.encrypted_content'] })
    : body;
}

/**
 * Adapts a request for a provider of the same dialect. Only expands short forms that we allow and providers do not: a `tool_choice` that
 * is a single word or a tool name, an empty list of tools, and OpenRouter's form of effort.
 */
export function normalizeRequest(body: JsonObject, dialect: Dialect): JsonObject {
  return normalizeTools(dialect === 'chat' ? normalizeEffort(body) : body, dialect);
}

function normalizeEffort(body: JsonObject): JsonObject {
  const { effort } = objectOf(body.reasoning);
  return typeof effort === 'string' ? { reasoning_effort: effort, ...without(body, 'reasoning') } : body;
}

function normalizeTools(body: JsonObject, dialect: Dialect): JsonObject {
  if (Array.isArray(body.tools) && body.tools.length === 0) {
    return without(body, 'tools', 'tool_choice', 'parallel_tool_calls');
  }
  if (typeof body.tool_choice !== 'string') {
    return body;
  }
  if (dialect === 'messages') {
    return merged(body, { tool_choice: messagesToolChoice(readMessagesToolPolicy(body)) });
  }
  return CHAT_WORDS.has(body.tool_choice) ? body : merged(body, chatToolChoice(readChatToolPolicy(body)));
}
