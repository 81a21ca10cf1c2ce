import { THINKING_BUDGET_MIN } from '../../providers/anthropic.provider.ts';
import { compact, isObject, type JsonObject, objectOf } from '../../providers/json.ts';
import type { Effort } from './efforts.ts';
import type { ModelRules } from './model-rules.ts';
import { isForced, type ToolPolicy } from './tool-choices.ts';

/** Share of the output cap that each effort may spend on thinking, as documented by OpenRouter. */
const EFFORT_SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

/**
 * Returns Anthropic's `thinking` for the reasoning settings of a chat request: OpenAI's `reasoning_effort`, or OpenRouter's
 * `reasoning: {effort | max_tokens | enabled}`. Undefined when there are none or the cap leaves no room to think.
 */
export function thinkingOf(body: JsonObject, maxOutputTokens: number): JsonObject | undefined {
  const reasoning = objectOf(body.reasoning);
  const share = EFFORT_SHARES[String(effortAsked(body))];
  const wanted =
    typeof reasoning.max_tokens === 'number' ? reasoning.max_tokens : maxOutputTokens * (share ?? 0);
  if (wanted <= 0) {
    return undefined;
  }
  const budget = Math.min(Math.max(Math.floor(wanted), THINKING_BUDGET_MIN), maxOutputTokens - 1);
  return budget < THINKING_BUDGET_MIN ? undefined : { type: 'enabled', budget_tokens: budget };
}

/** Returns whether the reasoning settings of a chat request ask the model to reason. */
export function asksForReasoning(body: JsonObject): boolean {
  const { max_tokens: budget } = objectOf(body.reasoning);
  const effort = effortAsked(body);
  return typeof budget === 'number'
    ? budget > 0
    : effort !== undefined && effort !== null && effort !== 'none';
}

function effortAsked(body: JsonObject): unknown {
  const reasoning = objectOf(body.reasoning);
  return reasoning.effort ?? body.reasoning_effort ?? (reasoning.enabled === true ? 'medium' : undefined);
}

/** Returns whether the reasoning settings of a chat request ask the model not to reason. */
export function asksForNoReasoning(body: JsonObject): boolean {
  const { enabled, max_tokens: budget } = objectOf(body.reasoning);
  return effortAsked(body) === 'none' || enabled === false || budget === 0;
}

/** Returns whether a chat request asks not to be shown the model's reasoning. */
function hidesReasoning(body: JsonObject): boolean {
  return body.include_reasoning === false || objectOf(body.reasoning).exclude === true;
}

/**
 * Returns the `thinking` of a chat request. A model that thinks unasked is told not to when the caller wants none, and otherwise asked to
 * show what it thinks: its remarks between tool calls are part of that.
 */
export function thinkingAsked(
  body: JsonObject,
  policy: ToolPolicy,
  maxOutputTokens: number,
  rules: ModelRules,
): JsonObject | undefined {
  if (asksForNoReasoning(body)) {
    return rules.thinksUnasked ? { type: 'disabled' } : undefined;
  }
  // most models that accept forced tools reject them together with thinking
  if (isForced(policy) && rules.takesForcedTools) {
    return undefined;
  }
  const asked = thinkingOf(body, maxOutputTokens);
  if (rules.thinking === 'budget') {
    return asked;
  }
  const display = rules.hidesThinking && !hidesReasoning(body) ? 'summarized' : undefined;
  return asked || (rules.thinksUnasked && display) ? compact({ type: 'adaptive', display }) : undefined;
}

/** Returns Anthropic's `output_config.effort` for a chat effort, for models that decide how much they think. */
export function adaptiveEffort(body: JsonObject): string | undefined {
  const asked = objectOf(body.reasoning).effort ?? body.reasoning_effort;
  if (typeof asked !== 'string' || asked === 'none') {
    return undefined;
  }
  return asked === 'minimal' ? 'low' : asked;
}

/**
 * Returns OpenAI's `reasoning_effort` for Anthropic's `thinking` and `output_config.effort`, the model's highest for `max`. Undefined when
 * thinking is off.
 */
export function effortOf(body: JsonObject, maxOutputTokens: number, highest: Effort): string | undefined {
  const configured = objectOf(body.output_config).effort;
  if (typeof configured === 'string') {
    return configured === 'max' ? highest : configured;
  }
  const thinking = body.thinking;
  if (!isObject(thinking) || thinking.type === 'disabled' || thinking.type === 'between_tools') {
    return undefined;
  }
  if (typeof thinking.budget_tokens !== 'number') {
    return 'medium';
  }
  const share = thinking.budget_tokens / maxOutputTokens;
  if (share <= 0.25) {
    return 'low';
  }
  return share <= 0.6 ? 'medium' : 'high';
}
