import type { JsonObject } from '../../providers/json.ts';
import type { Dialect } from '../../providers/provider.types.ts';
import type { ModelRoute } from '../invocation.types.ts';
import type { ToolIdForm } from './tool-ids.ts';

/** What a provider's model rejects or requires beyond its protocol. */
export interface ModelRules {
  /** Members to leave out. */
  readonly drop: readonly string[];
  /** Whether it rejects `temperature` and `top_p` together. */
  readonly oneSampler: boolean;
  /** How to request thinking: with a token budget, or with an effort and the amount left to the model. */
  readonly thinking: 'budget' | 'adaptive';
  /** Whether an adaptive model knows the effort `xhigh`. All know `max`. */
  readonly takesXhigh: boolean;
  /** Whether messages may include turns with the role `system`. */
  readonly systemTurns: boolean;
  /** Whether such a turn may set the effort from there on. */
  readonly takesTurnEfforts: boolean;
  /** Required form of tool call ids. */
  readonly toolIds: ToolIdForm;
  /** Whether it rejects tool results, or gets worse, without the reasoning that led to the calls. */
  readonly needsReasoningBack: boolean;
  /** Whether its server rejects members of messages and tools that it does not know. */
  readonly isStrict: boolean;
  /** Formats of `reasoning_details` that it wants back, by how their names begin. */
  readonly details: readonly string[];
  /** Whether it is known to reason, for the Responses dialect. */
  readonly reasons: boolean;
  /** Maximum number of stop sequences. */
  readonly stopsMax: number;
}

const SAMPLING = ['temperature', 'top_p', 'top_k'];
/** Matches `claude-opus-4-7`, `anthropic.claude-sonnet-5-v1:0`, `claude-opus-4.8@2026…`. A date is not a minor version. */
const CLAUDE = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/;
/** First Claude version that rejects sampling settings and thinking budgets. */
const SETTLED_MAJOR = 4;
const SETTLED_MINOR = 7;
/** First minor version of that major that accepts only one of temperature and top_p. */
const ONE_SAMPLER_MINOR = 1;
/** First minor version of that major that accepts system turns. */
const SYSTEM_TURNS_MINOR = 8;
/**
 * First minor version of major 5 that lets a system turn set the effort, by family. Source: platform.claude.com/docs, "Per-message effort".
 */
const TURN_EFFORTS_MAJOR = 5;
const TURN_EFFORTS_MINOR: Readonly<Record<string, number>> = {
  opus: 0,
  fable: 1,
  mythos: 1,
  sonnet: 5,
  haiku: 5,
};
/** OpenAI's reasoning models, which reject sampling settings. */
const OPENAI_REASONING = /(?:^|\/)(?:o[1-9](?:-|$)|gpt-5)/;

/** OpenAI models that return their reasoning. `gpt-5-chat` does not reason. */
const REASONS = /(?:^|\/)(?:o[1-9](?:-|$)|gpt-5(?![\d.]*-chat)|codex-)/;

const OPENAI = /(?:^|\/)(?:gpt-\d|chatgpt-|o[1-9](?:-|$))/;
const MISTRAL = /(?:mis|mix|minis|magis|codes|devs|pix|vox)tral/;

/** Models whose servers want `reasoning_content` back within a tool loop. */
const RETURNS_REASONING = /deepseek|kimi|glm-/;

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

const byRoute = new WeakMap<ModelRoute, ModelRules>();

/** Returns the rules of a route's model: from the catalog, otherwise derived from the model's name. */
export function modelRules(route: ModelRoute, dialect: Dialect): ModelRules {
  let rules = byRoute.get(route);
  if (!rules) {
    const known = knownRules(route.model.toLowerCase(), dialect);
    rules = {
      ...known,
      drop: route.drop ?? known.drop,
      thinking: route.thinking ?? known.thinking,
      toolIds: route.toolIds ?? known.toolIds,
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
  drop: [],
  oneSampler: false,
  thinking: 'budget',
  takesXhigh: false,
  systemTurns: false,
  takesTurnEfforts: false,
  toolIds: 'any',
  needsReasoningBack: false,
  isStrict: false,
  details: [],
  reasons: false,
  stopsMax: Number.POSITIVE_INFINITY,
};

/** OpenAI's limit (API reference, `stop`: up to 4). */
const OPENAI_STOPS_MAX = 4;

function knownRules(model: string, dialect: Dialect): ModelRules {
  if (dialect === 'chat') {
    const isOpenAi = OPENAI.test(model);
    const toolIds = isOpenAi ? 'openai' : MISTRAL.test(model) ? 'mistral' : 'any';
    const stopsMax = isOpenAi ? OPENAI_STOPS_MAX : PLAIN_RULES.stopsMax;
    const drop = OPENAI_REASONING.test(model) ? SAMPLING : [];
    const needsReasoningBack = RETURNS_REASONING.test(model);
    // a name without a vendor is the maker's own server
    const isStrict = toolIds !== 'any' && !model.includes('/');
    const details = DETAILS.filter(([models]) => models.test(model)).map(([, format]) => format);
    const reasons = REASONS.test(model);
    return { ...PLAIN_RULES, drop, toolIds, stopsMax, needsReasoningBack, isStrict, details, reasons };
  }
  const [, family = '', major = '0', minor = '0'] = CLAUDE.exec(model) ?? [];
  const from = (least: number, of = SETTLED_MAJOR) =>
    Number(major) > of || (Number(major) === of && Number(minor) >= least);
  if (!from(SETTLED_MINOR)) {
    return { ...PLAIN_RULES, oneSampler: from(ONE_SAMPLER_MINOR) };
  }
  return {
    ...PLAIN_RULES,
    drop: SAMPLING,
    thinking: 'adaptive',
    takesXhigh: true,
    systemTurns: from(SYSTEM_TURNS_MINOR),
    takesTurnEfforts: from(TURN_EFFORTS_MINOR[family] ?? Number.POSITIVE_INFINITY, TURN_EFFORTS_MAJOR),
  };
}
