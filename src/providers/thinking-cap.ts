import { objectOf } from './json.ts';
import type { ProviderRequest, ThinkingCap } from './provider.types.ts';
import type { OpenAiProviderSettings } from './provider-settings.ts';

type CappedRequest = Pick<ProviderRequest, 'body' | 'model' | 'maxOutputTokens' | 'reasons'>;

/** Qwen's models with open weights think by default, `…-instruct-…` never, the others from 3.5 on. */
const QWEN = String.raw`qwen3-[\d.]+b(?!.*instruct)|qwen3\.[5-9]|qwen[4-9]|qwen.*thinking`;
const OTHERS = String.raw`qwq|deepseek-(?:r1|v3\.[1-9]|v[4-9])|glm-(?:z1|4\.[1-9]|[5-9])|kimi-k(?:2-thinking|2\.[5-9]|[3-9])|hunyuan-a13b|minimax-m|seed-oss|step-?3`;

/** Models that think unasked at some servers. */
export const MAY_THINK = new RegExp(`${QWEN}|${OTHERS}`);

/** What is assumed of providers that an operator says cap thinking apart. */
const UNKNOWN: ThinkingCap = {
  thinks: MAY_THINK,
  least: 1,
  most: Number.MAX_SAFE_INTEGER,
  forcesThinkers: true,
};

/**
 * Hosts whose `max_tokens` caps the answer and leaves thinking to `thinking_budget`: Alibaba's DashScope (Model Studio), SiliconFlow.
 * Sources: help.aliyun.com/zh/model-studio/deep-thinking, docs.siliconflow.cn/cn/api-reference/chat-completions.
 */
const APART: readonly (readonly [RegExp, ThinkingCap])[] = [
  [/(?:^|\.)aliyuncs\.com$/, { ...UNKNOWN, thinks: new RegExp(QWEN), forcesThinkers: false }],
  [/(?:^|\.)siliconflow\.(?:cn|com)$/, { ...UNKNOWN, least: 128, most: 32_768 }],
];

/**
 * Volcengine Ark and BytePlus ModelArk: their `max_tokens` leaves thinking out, without any cap for it; `max_completion_tokens` caps both.
 * Source: volcengine.com/docs/82379/1494384.
 */
const ARK = /(?:^|\.)(?:volces|bytepluses)\.com$/;

/** OpenAI and Azure OpenAI, whose current models take `max_completion_tokens`. Source: platform.openai.com/docs/api-reference/chat/create. */
const OPENAI = /(?:^|\.)(?:api\.openai|(?:openai|cognitiveservices)\.azure)\.com$/;

/** How the names of OpenAI's reasoning models begin, from GPT-5 on all. `gpt-35` is Azure's name of GPT-3.5. */
export const OPENAI_REASONING = String.raw`(?:o[1-9](?:-|$)|gpt-(?:[5-9]|1\d)|codex-)`;

/** They reject `max_tokens` under their own names. Vendors' names for them (`openai/…`) are those of other servers. */
const ITS_OWN_NAME = new RegExp(`^${OPENAI_REASONING}`);

/** Share of the cap that thinking may use if the caller set no budget for it. */
const SHARE = 0.5;

export type CapField = 'max_tokens' | 'max_completion_tokens';

/** Returns the name of the member that caps the whole output of a model. */
export function capFieldOf(
  settings: Pick<OpenAiProviderSettings, 'base_url' | 'max_tokens_field'>,
): (model: string) => CapField {
  const { max_tokens_field: named, base_url } = settings;
  const { hostname } = new URL(base_url);
  const ofHost = named ?? (ARK.test(hostname) || OPENAI.test(hostname) ? 'max_completion_tokens' : undefined);
  return (model) => ofHost ?? (ITS_OWN_NAME.test(model) ? 'max_completion_tokens' : 'max_tokens');
}

/** Returns how the provider caps thinking apart from the answer. Undefined if one cap covers both. */
export function thinkingCapOf(
  settings: Pick<OpenAiProviderSettings, 'base_url' | 'max_tokens_covers'>,
): ThinkingCap | undefined {
  const { hostname } = new URL(settings.base_url);
  const known = APART.find(([host]) => host.test(hostname))?.[1];
  const covers = settings.max_tokens_covers ?? (known ? 'answer' : 'everything');
  return covers === 'answer' ? (known ?? UNKNOWN) : undefined;
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
export function capsApart(request: CappedRequest, apart: ThinkingCap): CapsApart {
  const cap = request.maxOutputTokens;
  if (!mayThink(request, apart)) {
    return { tokens: cap };
  }
  const { thinking_budget: asked } = request.body;
  const wanted = Math.floor(typeof asked === 'number' ? asked : cap * SHARE);
  const budget = Math.min(Math.max(wanted, apart.least), apart.most, cap - 1);
  return budget < apart.least
    ? { tokens: cap, thinking_budget: undefined, enable_thinking: false }
    : { tokens: cap - budget, thinking_budget: budget };
}

/** Returns whether the model may think. Any member that asks for it counts, because each has a server that reads it. */
function mayThink({ body, model, reasons }: CappedRequest, { thinks }: ThinkingCap): boolean {
  if (body.enable_thinking === false) {
    return false;
  }
  const { type = 'disabled' } = objectOf(body.thinking);
  const { reasoning_effort: effort = 'none' } = body;
  const asked = ['enable_thinking', 'thinking_budget', 'reasoning'].some((name) => body[name] !== undefined);
  return asked || type !== 'disabled' || effort !== 'none' || reasons || thinks.test(model.toLowerCase());
}
