import { objectOf } from './json.ts';
import type { ProviderRequest } from './provider.types.ts';

type CappedRequest = Pick<ProviderRequest, 'body' | 'model' | 'maxOutputTokens' | 'reasons'>;

/** Hosts of Alibaba's DashScope (Model Studio), whose `max_tokens` caps the answer and leaves thinking to `thinking_budget`. */
const APART = /(?:^|\.)aliyuncs\.com$/;

/** Models that take a thinking budget there and think unless they are told not to, or always. */
const THINKS = /qwen3\.[5-9]|qwen[4-9]|qwen.*thinking/;

/** Share of the cap that thinking may use if the caller set no budget for it. */
const SHARE = 0.5;

/** Returns whether the provider at this URL is known to cap thinking apart from the answer. */
export function capsThinkingApart(baseUrl: string): boolean {
  return APART.test(new URL(baseUrl).hostname);
}

export interface CapsApart {
  /** Cap of the answer, in tokens. */
  readonly tokens: number;
  readonly thinking_budget?: number | undefined;
  readonly enable_thinking?: boolean;
}

/**
 * Returns the caps of a chat request to a provider that caps thinking apart from the answer. Together they are the cap of the call, because
 * that is what is held and the most that is charged. Without room for both, the model is told not to think.
 */
export function capsApart(request: CappedRequest): CapsApart {
  const cap = request.maxOutputTokens;
  if (!mayThink(request)) {
    return { tokens: cap };
  }
  const { thinking_budget: asked } = request.body;
  const wanted = Math.floor(typeof asked === 'number' ? asked : cap * SHARE);
  const budget = Math.min(Math.max(wanted, 1), cap - 1);
  return budget < 1
    ? { tokens: cap, thinking_budget: undefined, enable_thinking: false }
    : { tokens: cap - budget, thinking_budget: budget };
}

/** Returns whether the model may think. Any member that asks for it counts, because each has a server that reads it. */
function mayThink({ body, model, reasons }: CappedRequest): boolean {
  if (body.enable_thinking === false) {
    return false;
  }
  const { type = 'disabled' } = objectOf(body.thinking);
  const { reasoning_effort: effort = 'none' } = body;
  const asked = ['enable_thinking', 'thinking_budget', 'reasoning'].some((name) => body[name] !== undefined);
  return asked || type !== 'disabled' || effort !== 'none' || reasons || THINKS.test(model.toLowerCase());
}
