import type { JsonObject } from '../../providers/json.ts';
import type { KnownMembers } from '../../providers/known-members.ts';
import type { Provider } from '../../providers/provider.types.ts';
import { OPENAI_REASONING } from '../../providers/thinking-cap.ts';
import type { ModelRoute, SystemMessages } from '../invocation.types.ts';
import { type ChatModelRules, chatModel, PLAIN_CHAT_RULES } from './chat-models.ts';
import { type ClaudeRules, claudeRules, PLAIN_CLAUDE_RULES, SAMPLING } from './claude-models.ts';
import type { ToolIdForm } from './tool-ids.ts';

/** What a provider's model rejects or requires beyond its protocol. */
export interface ModelRules extends ClaudeRules {
  /** Further members to leave out, by their paths: those inside of others. */
  readonly dropInside: readonly string[];
  readonly isClaude: boolean;
  /** Of thinking and tools behind OpenAI's chat protocol. */
  readonly chat: ChatModelRules;
  /** Required form of tool call ids. */
  readonly toolIds: ToolIdForm;
  /** Whether it rejects tool results, or gets worse, without the reasoning that led to the calls. */
  readonly needsReasoningBack: boolean;
  /** The only members of requests that its server accepts. Undefined if it ignores the others. */
  readonly knownMembers: KnownMembers | undefined;
  /** Whether its server rejects members of messages and tools that it does not know. */
  readonly isStrict: boolean;
  /** Formats of `reasoning_details` that it wants back, by how their names begin. */
  readonly details: readonly string[];
  /** Whether it is known to reason, for the Responses dialect. */
  readonly reasons: boolean;
  /** Maximum number of stop sequences. */
  readonly stopsMax: number;
  /** Which messages may hold instructions: any, only the first, or none, so that the user has to say them. */
  readonly systemMessages: SystemMessages;
  /** Whether users and the model have to take turns, the user first and last. */
  readonly alternates: boolean;
  /** Whether a turn may hold only one call of a tool. */
  readonly callsSingly: boolean;
}

const REASONING = new RegExp(`(?:^|/)${OPENAI_REASONING}`);

/** Settings that OpenAI's reasoning models reject. Source: platform.openai.com/docs, "Reasoning models". */
const REFUSED_BY_REASONING: readonly string[] = [...SAMPLING, 'presence_penalty', 'frequency_penalty'];

/** They call one tool at a time, and reject the member that says so. */
const ONE_CALL_AT_A_TIME = /(?:^|\/)o[1-9](?:-|$)/;

/** Those that do not reason, although they are named like the others. */
const ONLY_CHATS = /gpt-[\d.]+-chat/;

const OPENAI = /(?:^|\/)(?:gpt-\d|chatgpt-|o[1-9](?:-|$))/;
const MISTRAL = /(?:mis|mix|minis|magis|codes|devs|pix|vox)tral/;

/** Models whose servers want `reasoning_content` back within a tool loop. */
const RETURNS_REASONING = /deepseek|kimi|^k[3-9]|glm-/;

/**
 * Formats of reasoning by the models behind chat servers that hand it out (OpenRouter, which names models by vendor). OpenAI's own server
 * and others reject the member.
 */
const DETAILS: readonly (readonly [RegExp, string])[] = [
  [/claude/, 'anthropic-claude'],
  [/gemini/, 'google-gemini'],
  [/\/(?:gpt-|o[1-9])/, 'openai-responses'],
  [/grok/, 'xai-responses'],
];

/**
 * Models whose template, on any server, takes instructions only as the first message: Qwen from 3.5 on ("System message must be at the
 * beginning", github.com/vllm-project/vllm/issues/41114; Fireworks writes 3p8), MiniMax ("invalid chat setting",
 * github.com/MiniMax-AI/MiniMax-M2/issues/51), Apertus ("Invalid message role") and InternLM.
 */
const INSTRUCTIONS_FIRST = /qwen-?3[.p][5-9]|qwen[4-9]|minimax|apertus|internlm/;

/**
 * Gemma before 4, which has no place for instructions: templates put them into the first question or answer "System role not supported",
 * Google "Developer instruction is not enabled". They also answer "Conversation roles must alternate"
 * (github.com/google/adk-python/issues/1373), as Mistral's models do. `4b` and the like are sizes.
 */
const OLD_GEMMA = /gemma(?!-?[4-9](?!b))/;

/** Further templates that answer so: of Cohere's models and Llama 2. */
const ALTERNATES = /command-[ar]|c4ai|(?:^|\/)aya|llama-?2/;

/** Llama 3's template: "This model only supports single tool-calls at once!" Fireworks writes v3p3. */
const CALLS_SINGLY = /llama-?v?3/;

/** What the rules depend on besides the model. */
type Served = Pick<Provider, 'dialect' | 'requestDialect' | 'thinkingCap' | 'knownMembers'>;

const byRoute = new WeakMap<ModelRoute, ModelRules>();

/** Returns the rules of a route's model: from the catalog, otherwise derived from the model's name and its server. */
export function modelRules(route: ModelRoute, provider: Served): ModelRules {
  let rules = byRoute.get(route);
  if (!rules) {
    const known = knownRules(route.model.toLowerCase(), provider);
    const toolIds = route.toolIds ?? known.toolIds;
    const alternates = route.turns
      ? route.turns === 'alternating'
      : known.alternates || toolIds === 'mistral';
    const systemMessages = alternates && known.systemMessages === 'anywhere' ? 'first' : known.systemMessages;
    const isInside = (path: string) => path.includes('.');
    rules = {
      ...known,
      drop: route.drop?.filter((path) => !isInside(path)) ?? known.drop,
      dropInside: route.drop?.filter(isInside) ?? [],
      thinking: route.thinking ?? known.thinking,
      toolIds,
      alternates,
      systemMessages: route.systemMessages ?? systemMessages,
      callsSingly: route.toolCalls ? route.toolCalls === 'single' : known.callsSingly,
    };
    byRoute.set(route, rules);
  }
  return rules;
}

/** Returns the members of a request that its model rejects. */
export function refusedMembers(body: JsonObject, rules: ModelRules): readonly string[] {
  const both = rules.oneSampler && body.temperature !== undefined && body.top_p !== undefined;
  return both ? [...rules.drop, 'top_p'] : rules.drop;
}

/** Rules for unknown models. */
export const PLAIN_RULES: ModelRules = {
  ...PLAIN_CLAUDE_RULES,
  dropInside: [],
  isClaude: false,
  chat: PLAIN_CHAT_RULES,
  toolIds: 'any',
  needsReasoningBack: false,
  knownMembers: undefined,
  isStrict: false,
  details: [],
  reasons: false,
  stopsMax: Number.POSITIVE_INFINITY,
  systemMessages: 'anywhere',
  alternates: false,
  callsSingly: false,
};

/** OpenAI's limit (API reference, `stop`: up to 4). */
const OPENAI_STOPS_MAX = 4;

function knownRules(model: string, served: Served): ModelRules {
  const { dialect, requestDialect, thinkingCap, knownMembers } = served;
  if (dialect === 'chat') {
    const isOpenAi = OPENAI.test(model);
    const toolIds = isOpenAi ? 'openai' : MISTRAL.test(model) ? 'mistral' : 'any';
    const stopsMax = isOpenAi ? OPENAI_STOPS_MAX : PLAIN_RULES.stopsMax;
    const made = chatModel(model, thinkingCap, knownMembers?.server);
    const chat = requestDialect === 'chat' ? made.rules : PLAIN_CHAT_RULES;
    const refused = REASONING.test(model) ? REFUSED_BY_REASONING : made.drop;
    const drop = ONE_CALL_AT_A_TIME.test(model) ? [...refused, 'parallel_tool_calls'] : refused;
    // a name without a vendor is the maker's own server
    const isStrict = knownMembers !== undefined || (toolIds !== 'any' && !model.includes('/'));
    const needsReasoningBack = !isStrict && RETURNS_REASONING.test(model);
    const details = DETAILS.filter(([models]) => models.test(model)).map(([, format]) => format);
    const reasons = REASONING.test(model) && !ONLY_CHATS.test(model);
    return {
      ...PLAIN_RULES,
      isClaude: model.includes('claude'),
      chat,
      knownMembers,
      drop,
      toolIds,
      stopsMax,
      needsReasoningBack,
      isStrict,
      details,
      reasons,
      systemMessages: systemMessagesOf(model),
      alternates: OLD_GEMMA.test(model) || ALTERNATES.test(model),
      callsSingly: CALLS_SINGLY.test(model),
    };
  }
  return { ...PLAIN_RULES, ...claudeRules(model), isClaude: model.includes('claude') };
}

function systemMessagesOf(model: string): SystemMessages {
  if (OLD_GEMMA.test(model)) {
    return 'none';
  }
  return INSTRUCTIONS_FIRST.test(model) ? 'first' : 'anywhere';
}
