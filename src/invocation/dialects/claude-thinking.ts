import { merged } from '../../lib/merged.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  without,
} from '../../providers/json.ts';
import { fittingEffort } from './efforts.ts';
import type { ModelRules } from './model-rules.ts';
import { thinkingOf } from './reasoning-settings.ts';
import { isThought } from './thinking-details.ts';
import { isForced, readMessagesToolPolicy } from './tool-choices.ts';

/** A request in Anthropic's protocol, and the model it goes to. */
export interface ClaudeCall {
  readonly body: JsonObject;
  readonly rules: ModelRules;
  /** In tokens. Limits a budget. */
  readonly maxOutputTokens: number;
}

/** Efforts at which no model thinks less than it wants to. */
const UNLIMITED_EFFORTS: readonly unknown[] = ['xhigh', 'max'];

/**
 * Returns true when budgeted thinking cannot continue: the last answer called tools without a preceding thinking block, and the protocol
 * requires one there ("a final assistant message must start with a thinking block").
 */
export function lacksThinking(messages: readonly JsonObject[]): boolean {
  const last = messages.findLast((turn) => turn.role === 'assistant');
  const blocks = objectsOf(last?.content);
  const first = blocks[0];
  return blocks.some((block) => block.type === 'tool_use') && !(first && isThought(first));
}

/**
 * Returns the `thinking` member for the model, given the turns that it will get. Undefined when thinking was not requested, the history has
 * none to continue from, or the model cannot be told.
 */
export function claudeThinking(call: ClaudeCall, turns: readonly JsonObject[]): JsonObject | undefined {
  const { body, rules } = call;
  const { thinking } = body;
  if (!isObject(thinking) || rules.drop.includes('thinking')) {
    return undefined;
  }
  switch (thinking.type) {
    case 'enabled':
      return rules.thinking === 'budget' && lacksThinking(turns) ? undefined : inForm(thinking, rules);
    case 'adaptive':
      return rules.thinking === 'adaptive' || rules.takesAdaptive
        ? without(thinking, 'budget_tokens')
        : budgetFor(call, turns);
    case 'disabled':
    case 'between_tools':
      return offFor(call);
    default:
      return thinking;
  }
}

/** Lets a model decide how much it thinks where it accepts no budget. */
function inForm(thinking: JsonObject, rules: ModelRules): JsonObject {
  const { display, block_binding } = thinking;
  return rules.thinking === 'adaptive' ? compact({ type: 'adaptive', display, block_binding }) : thinking;
}

/** Gives a model that needs a budget the share of its answer that the effort stands for. It accepts no forced tools meanwhile. */
function budgetFor(
  { body, maxOutputTokens }: ClaudeCall,
  turns: readonly JsonObject[],
): JsonObject | undefined {
  if (lacksThinking(turns) || isForced(readMessagesToolPolicy(body))) {
    return undefined;
  }
  const { display } = objectOf(body.thinking);
  const budget = thinkingOf({ reasoning_effort: effortIn(body) ?? 'high' }, maxOutputTokens);
  return budget && compact({ ...budget, display });
}

function offFor({ body, rules }: ClaudeCall): JsonObject | undefined {
  const { thinkingOff: type, thinksUnasked } = rules;
  // such a model rejects one with the other; the effort says more
  const isContradicted = thinksUnasked && UNLIMITED_EFFORTS.includes(effortIn(body));
  if (type === undefined || isContradicted) {
    return undefined;
  }
  return { type };
}

/** Returns the effort to request of the model, given the thinking that is requested of it. */
export function claudeEffort({ body, rules }: ClaudeCall, thinking: JsonObject | undefined): unknown {
  // without a budget to follow, the model keeps its own default effort
  const implied = thinking?.type === 'adaptive' ? effortOfBudget(body.thinking) : undefined;
  const least = isOff(body.thinking) && rules.thinkingOff === undefined ? 'low' : undefined;
  return fittingEffort(effortIn(body) ?? implied ?? least, rules.efforts);
}

/** Returns Anthropic's effort level for a budget in tokens, following its former default budgets. Undefined without a budget. */
function effortOfBudget(thinking: unknown): string | undefined {
  const { budget_tokens: budget } = objectOf(thinking);
  if (typeof budget !== 'number') {
    return undefined;
  }
  if (budget <= LOW_BUDGET) {
    return 'low';
  }
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** Largest budgets of low and medium effort, in tokens. */
const LOW_BUDGET = 2_048;
const MEDIUM_BUDGET = 8_192;

/**
 * Lets the model drop earlier thinking that it can no longer read, unless the caller chose otherwise. It would reject the request because
 * something before that thinking changed: callers of other protocols edit their history, and we adapt it to each model.
 */
export function withReadableThinking(
  thinking: JsonObject | undefined,
  turns: readonly JsonObject[],
  { bindsThinking }: ModelRules,
): JsonObject | undefined {
  const isAdaptive = thinking === undefined || thinking.type === 'adaptive';
  if (!bindsThinking || !isAdaptive || !turns.some(holdsThought)) {
    return thinking;
  }
  // these models think adaptively when a request says nothing about it
  const block_binding = { prefix_mismatch_behavior: 'drop_block' };
  return merged({ type: 'adaptive', block_binding }, thinking ?? {});
}

function holdsThought({ content }: JsonObject): boolean {
  return Array.isArray(content) && objectsOf(content).some(isThought);
}

/**
 * Returns the `context_management` member without edits of thinking where there is none: "`clear_thinking_20251015` strategy requires
 * `thinking` to be enabled or adaptive". Undefined when no edit is left.
 */
export function fittingEdits(
  { body, rules }: ClaudeCall,
  thinking: JsonObject | undefined,
): JsonObject | undefined {
  const management = body.context_management;
  if (!isObject(management)) {
    return undefined;
  }
  const thinks = thinking === undefined ? rules.thinksUnasked : thinking.type !== 'disabled';
  const edits = objectsOf(management.edits);
  const fitting = edits.filter(({ type }) => thinks || !textOf(type).startsWith('clear_thinking_'));
  if (fitting.length === edits.length) {
    return management;
  }
  return fitting.length === 0 ? undefined : merged(management, { edits: fitting });
}

/** Returns the members about thinking and tools that the model does not get as they are. */
export function leftOutForClaude(call: ClaudeCall): string[] {
  const { body, rules } = call;
  const thinking = claudeThinking(call, objectsOf(body.messages));
  const isBudget = thinking?.type === 'enabled';
  return [
    ...(isObject(body.thinking) && thinking === undefined ? ['thinking'] : []),
    ...(effortIn(body) !== undefined && rules.efforts.length === 0 && !isBudget
      ? ['output_config.effort']
      : []),
    ...(fittingEdits(call, thinking) === body.context_management ? [] : ['context_management']),
    ...(isForced(readMessagesToolPolicy(body)) && !rules.takesForcedTools ? ['tool_choice'] : []),
  ];
}

function effortIn(body: JsonObject): unknown {
  return objectOf(body.output_config).effort ?? undefined;
}

function isOff(thinking: unknown): boolean {
  const { type } = objectOf(thinking);
  return type === 'disabled' || type === 'between_tools';
}
