import type { JsonObject } from '../../providers/json.ts';
import type { Dialect } from '../../providers/provider.types.ts';
import type { ModelRoute } from '../invocation.types.ts';
import type { ToolIdForm } from './tool-ids.ts';

/** What a provider's model refuses although its protocol has it. */
export interface ModelRules {
  /** Members that are left out. */
  readonly drop: readonly string[];
  /** Whether it refuses `temperature` and `top_p` together. */
  readonly oneSampler: boolean;
  /** How thinking is asked for: by a budget of tokens, or left to the model with an effort. */
  readonly thinking: 'budget' | 'adaptive';
  /** Whether turns of the role `system` may stand among the messages. */
  readonly systemTurns: boolean;
  /** Whose form the ids of tool calls must have. */
  readonly toolIds: ToolIdForm;
  /** Whether it refuses, or gets worse at, going on from tool calls without the thoughts that led to them. */
  readonly wantsThoughts: boolean;
  /** Whether it is known to reason, in the dialect of Responses. */
  readonly reasons: boolean;
  /** How many stop sequences it takes. */
  readonly stopsMax: number;
}

const SAMPLING = ['temperature', 'top_p', 'top_k'];
/** `claude-opus-4-7`, `anthropic.claude-sonnet-5-v1:0`, `claude-opus-4.8@2026…`; a date is no minor version. */
const CLAUDE = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/;
/** The first Claude that refuses sampling settings and thinking by a budget. */
const SETTLED_MAJOR = 4;
const SETTLED_MINOR = 7;
/** The first minor version of the same that takes but one of temperature and top_p. */
const ONE_SAMPLER_MINOR = 1;
/** … and that takes system turns. */
const SYSTEM_TURNS_MINOR = 8;
/** OpenAI's reasoning models, which refuse sampling settings. */
const OPENAI_REASONING = /(?:^|\/)(?:o[1-9](?:-|$)|gpt-5)/;

/** … which give their reasoning along; `gpt-5-chat` does not reason. */
const REASONS = /(?:^|\/)(?:o[1-9](?:-|$)|gpt-5(?![\d.]*-chat)|codex-)/;

const OPENAI = /(?:^|\/)(?:gpt-\d|chatgpt-|o[1-9](?:-|$))/;
const MISTRAL = /(?:mis|mix|minis|magis|codes|devs|pix|vox)tral/;

/** Models whose `reasoning_content` their servers want back within a tool loop. */
const THINKS_ALOUD = /deepseek|kimi|glm-/;

const byRoute = new WeakMap<ModelRoute, ModelRules>();

/** The rules of a route's model: what the catalog says, else what is known by the model's name. */
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

/** The members of a request that its model refuses. */
export function refusedMembers(body: JsonObject, rules: ModelRules): readonly string[] {
  const both = rules.oneSampler && body.temperature !== undefined && body.top_p !== undefined;
  return both ? [...rules.drop, 'top_p'] : rules.drop;
}

/** What holds where nothing is known of the model. */
export const PLAIN_RULES: ModelRules = {
  drop: [],
  oneSampler: false,
  thinking: 'budget',
  systemTurns: false,
  toolIds: 'any',
  wantsThoughts: false,
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
    const wantsThoughts = THINKS_ALOUD.test(model);
    return { ...PLAIN_RULES, drop, toolIds, stopsMax, wantsThoughts, reasons: REASONS.test(model) };
  }
  const [, major, minor = '0'] = CLAUDE.exec(model) ?? [];
  const from = (least: number) =>
    Number(major ?? 0) > SETTLED_MAJOR || (Number(major) === SETTLED_MAJOR && Number(minor) >= least);
  return from(SETTLED_MINOR)
    ? { ...PLAIN_RULES, drop: SAMPLING, thinking: 'adaptive', systemTurns: from(SYSTEM_TURNS_MINOR) }
    : { ...PLAIN_RULES, oneSampler: from(ONE_SAMPLER_MINOR) };
}
