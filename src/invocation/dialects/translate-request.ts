import { merged } from '../../lib/merged.ts';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import { ENCRYPTED_REASONING } from '../../providers/output-deltas.ts';
import type { Dialect, ProviderDialect, RequestDialect } from '../../providers/provider.types.ts';
import { withAlternatingTurns } from './alternating-turns.ts';
import { CLEARED_TURNS, TURN_EFFORTS, withoutLockedMembers } from './anthropic-betas.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { chatRequestToResponses } from './chat-request-to-responses.ts';
import { chatPlan, inChatPlan, reasoningIn, topEffort } from './chat-thinking.ts';
import { claudeRequest } from './claude-request.ts';
import { withExplicitMembers, withWholeParameters } from './explicit-members.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import type { ModelRules } from './model-rules.ts';
import { forStrictServer, withKnownMembers } from './only-known-members.ts';
import { withSingleCalls } from './single-calls.ts';
import {
  hasClearing,
  itemsWithInstructionsIn,
  withInstructionsIn,
  withoutClearedTurns,
} from './system-turns.ts';
import { thinkingOfDetails } from './thinking-details.ts';
import {
  chatToolChoice,
  isForced,
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
  const body =
    from === 'messages' ? withTurnSettings(withoutBillingHeader(given, rules), translation) : given;
  if (from === 'embeddings' || from === 'rerank') {
    if (to !== 'chat') {
      throw untranslatable(from);
    }
    return from === 'embeddings' ? withKnownMembers(body, rules.knownMembers?.embeddings) : body;
  }
  if (to === 'messages') {
    const translated =
      from === 'messages'
        ? normalizeRequest(withoutLockedMembers(body, translation.betas), to)
        : yield* chatRequestToMessages(body, maxOutputTokens, rules);
    return yield* claudeRequest({ body: translated, rules, maxOutputTokens });
  }
  if (to === 'responses' && translation.native) {
    const native = without(translation.native, ...rules.drop);
    const { systemMessages } = rules;
    const whole = yield* withWholeParameters(native);
    const ordered =
      systemMessages === 'anywhere' ? whole : yield* itemsWithInstructionsIn(whole, systemMessages);
    return withReasoning(ordered, translation);
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
    return yield* fitting(withKnownMembers(planned, rules.knownMembers?.chat), rules);
  }
  const chat = yield* fitting(translated, rules);
  return withReasoning(yield* chatRequestToResponses(chat), translation);
}

/** Claude Code's first line of instructions, for Anthropic's accounts. It names the version and, in some, the request. */
const BILLING_HEADER = /^x-anthropic-billing-header:[^\n]*\n?/;

/** Removes {@link BILLING_HEADER} for other models than Claude: a line that changes keeps their servers from using their prefix caches. */
function withoutBillingHeader(body: JsonObject, { isClaude }: ModelRules): JsonObject {
  const { system } = body;
  if (isClaude || system === undefined) {
    return body;
  }
  if (typeof system === 'string') {
    return BILLING_HEADER.test(system) ? merged(body, { system: system.replace(BILLING_HEADER, '') }) : body;
  }
  const blocks = objectsOf(system);
  if (!blocks.some(({ text }) => BILLING_HEADER.test(textOf(text)))) {
    return body;
  }
  const kept = blocks
    .map((block) => merged(block, { text: textOf(block.text).replace(BILLING_HEADER, '') }))
    .filter(({ text }) => text !== '');
  return kept.length === 0 ? without(body, 'system') : merged(body, { system: kept });
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

/** Removes what the model rejects from a chat request, and gives turns, tools and tool call ids the form that it accepts. */
function* fitting(given: JsonObject, rules: ModelRules): Steps<JsonObject> {
  const body = yield* withFittingTurns(
    yield* withExplicitMembers(given, rules.toolIds !== 'openai' && !rules.isStrict),
    rules,
  );
  const dropped = rules.drop.length === 0 ? body : without(body, ...rules.drop);
  const kept = rules.details.includes('anthropic-claude')
    ? merged(dropped, { messages: yield* mapInSteps(objectsOf(dropped.messages), withThinkingBlocks) })
    : dropped;
  return rules.toolIds === 'any'
    ? kept
    : merged(kept, { messages: yield* withToolIds(kept.messages, rules.toolIds) });
}

function* withFittingTurns(body: JsonObject, rules: ModelRules): Steps<JsonObject> {
  const { systemMessages, alternates, callsSingly } = rules;
  const ordered = systemMessages === 'anywhere' ? body : yield* withInstructionsIn(body, systemMessages);
  const called = callsSingly ? yield* withSingleCalls(ordered) : ordered;
  return alternates ? yield* withAlternatingTurns(called) : called;
}

/** Gives a chat request to a chat provider the members that its server knows, and the earlier reasoning the form that its model wants. */
function* forChatServer(body: JsonObject, rules: ModelRules): Steps<JsonObject> {
  if (rules.isStrict) {
    return yield* forStrictServer(body, rules.toolIds);
  }
  return rules.needsReasoningBack
    ? merged(body, { messages: yield* mapInSteps(objectsOf(body.messages), withEarlierReasoning) })
    : body;
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
 * Adapts a request for a provider of the same dialect. Expands short forms that we allow and providers do not: a `tool_choice` that is a
 * single word or a tool name, and OpenRouter's form of effort. Removes what says nothing and providers reject: an empty list of tools,
 * settings of tools without any ("'tool_choice' is only allowed when 'tools' are specified") and empty stop sequences.
 */
export function normalizeRequest(body: JsonObject, dialect: Dialect): JsonObject {
  return normalizeTools(dialect === 'chat' ? normalizeStop(normalizeEffort(body)) : body, dialect);
}

function normalizeEffort(body: JsonObject): JsonObject {
  const { effort } = objectOf(body.reasoning);
  return typeof effort === 'string' ? { reasoning_effort: effort, ...without(body, 'reasoning') } : body;
}

/** vLLM: "stop cannot contain an empty string"; OpenAI takes no empty list. */
function normalizeStop(body: JsonObject): JsonObject {
  const { stop } = body;
  if (stop === '' || (Array.isArray(stop) && stop.every((one) => one === ''))) {
    return without(body, 'stop');
  }
  return Array.isArray(stop) && stop.includes('')
    ? merged(body, { stop: stop.filter((one) => one !== '') })
    : body;
}

/** Returns whether a request without tools has settings of them that ask for nothing. One that forces a tool is the caller's mistake. */
function hasIdleSettings(body: JsonObject, dialect: Dialect): boolean {
  const isSet = body.tool_choice !== undefined || body.parallel_tool_calls !== undefined;
  return isSet && !isForced(dialect === 'chat' ? readChatToolPolicy(body) : readMessagesToolPolicy(body));
}

function normalizeTools(body: JsonObject, dialect: Dialect): JsonObject {
  if (Array.isArray(body.tools) ? body.tools.length === 0 : hasIdleSettings(body, dialect)) {
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
