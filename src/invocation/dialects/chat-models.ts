import type { KnownMembers } from '../../providers/known-members.ts';
import type { ThinkingCap } from '../../providers/provider.types.ts';
import { MAY_THINK } from '../../providers/thinking-cap.ts';
import type { Effort } from './efforts.ts';

/** What a model behind OpenAI's protocol rejects or requires of thinking, efforts, tools and formats. */
export interface ChatModelRules {
  /** Efforts that it accepts besides `none`. Undefined when any may be passed on. */
  readonly efforts: readonly Effort[] | undefined;
  /** Whether it thinks in Groq's form: any effort but `none` is `default`, and thoughts are part of the content unless a member says otherwise. */
  readonly thinksInGroqsForm: boolean;
  /** Whether it thinks when a request says nothing about it. */
  readonly thinks: boolean;
  /**
   * How a request turns its thinking off: with `thinking: {"type": "disabled"}`, `enable_thinking: false`, the effort `none`, or not at all.
   * Undefined when unknown.
   */
  readonly thinkingOff: 'disabled' | 'enable_thinking' | 'none' | 'never' | undefined;
  /** When a request may force the use of tools. `any`: only without naming the tool. */
  readonly forcedTools: 'always' | 'without_thinking' | 'any' | 'never';
  /** The strictest format that its server holds an answer to: a JSON Schema (at any time, or only without thinking), any JSON object, text. */
  readonly answers: 'schema' | 'schema_without_thinking' | 'object' | 'text';
  /** Whether it rejects earlier tool calls without the reasoning that led to them while it thinks. */
  readonly rejectsLostReasoning: boolean;
}

/** Rules for unknown models. */
export const PLAIN_CHAT_RULES: ChatModelRules = {
  efforts: undefined,
  thinksInGroqsForm: false,
  thinks: false,
  thinkingOff: undefined,
  forcedTools: 'always',
  answers: 'schema',
  rejectsLostReasoning: false,
};

/** A model's rules, and the members that it rejects. */
interface KnownModel extends Partial<ChatModelRules> {
  readonly drop?: readonly string[];
}

const PENALTIES: readonly string[] = ['presence_penalty', 'frequency_penalty'];

/** "Penalty is not enabled for this model", "Unknown name \"top_k\"". */
const UNKNOWN_TO_GEMINI: readonly string[] = [...PENALTIES, 'top_k'];

/** Source: platform.kimi.ai/docs/api/models-overview: "cannot be modified". */
const KIMI_SETS: readonly string[] = ['temperature', 'top_p', ...PENALTIES];

/** What all of them have in common. */
const KIMI = { drop: KIMI_SETS, efforts: [], thinks: true, rejectsLostReasoning: true };
const ALWAYS_THINKING_KIMI = { ...KIMI, drop: [...KIMI_SETS, 'thinking'], thinkingOff: 'never' } as const;

/** It always thinks, and rejects the effort `none`. */
const THINKING_GROK = { drop: PENALTIES, thinks: true, thinkingOff: 'never' } as const;

/** Sources: api-docs.deepseek.com/api/create-chat-completion; docs.z.ai/guides/capabilities/struct-output. */
const NO_SCHEMAS = { answers: 'object' } as const;

/** Source: platform.minimax.io/docs/api-reference/text-post: `tool_choice` is none or auto, `response_format` is for another model. */
const MINIMAX = { thinks: true, efforts: [], forcedTools: 'never', answers: 'text' } as const;

/** The efforts of most models. */
const LOW_TO_HIGH: readonly Effort[] = ['low', 'medium', 'high'];

/** The efforts of the current Kimi and GLM models. */
const LOW_HIGH_MAX: readonly Effort[] = ['low', 'high', 'max'];

/**
 * Models by their makers' own names, as these servers call them. Servers of other companies, which name the vendor (`moonshotai/…`), have
 * their own rules. The first match counts. Sources: api-docs.deepseek.com/guides/thinking_mode; platform.kimi.ai/docs/api/chat;
 * docs.z.ai/guides/capabilities/thinking ("only max, high and low are supported") and its error "Tool choice must be auto";
 * ai.google.dev/gemini-api/docs/openai; docs.x.ai/developers/model-capabilities/text/reasoning; docs.mistral.ai/capabilities/reasoning.
 */
const BY_MAKERS_NAME: readonly (readonly [RegExp, KnownModel])[] = [
  // Ollama's names end in a tag, and it serves the models of all makers alike (`must be "high", "medium", "low", or "none"`)
  [/^(?!gpt-oss)[^:]+:(?!\d+$)[\w.-]+$/, { efforts: LOW_TO_HIGH }],
  [
    // without their version since V4.1
    /^deepseek-(?:v[4-9]|flash|pro)/,
    {
      ...NO_SCHEMAS,
      thinks: true,
      thinkingOff: 'disabled',
      forcedTools: 'without_thinking',
      rejectsLostReasoning: true,
    },
  ],
  [/^deepseek-(?!ai\/)/, NO_SCHEMAS],
  [/^kimi-k2\.[56]/, { ...KIMI, thinkingOff: 'disabled', forcedTools: 'without_thinking' }],
  [/^kimi-k2\.[7-9]/, { ...ALWAYS_THINKING_KIMI, forcedTools: 'never' }],
  [/^(?:kimi-)?k[3-9]/, { ...ALWAYS_THINKING_KIMI, efforts: LOW_HIGH_MAX, forcedTools: 'any' }],
  [
    /^glm-(?:5\.[3-9]|[6-9])/,
    { ...NO_SCHEMAS, efforts: LOW_HIGH_MAX, thinks: true, thinkingOff: 'never', forcedTools: 'never' },
  ],
  [/^glm-(?:4\.[5-9]|5)/, { ...NO_SCHEMAS, thinks: true, thinkingOff: 'disabled', forcedTools: 'never' }],
  [/^glm-/, { ...NO_SCHEMAS, forcedTools: 'never' }],
  [/^minimax-m[3-9]/, { ...MINIMAX, thinkingOff: 'disabled' }],
  [/^minimax-m/, { ...MINIMAX, thinkingOff: 'never' }],
  // the efforts that their templates know, on whatever server
  [/\/(?:kimi-k[3-9]|deepseek-v[4-9])/, { efforts: LOW_HIGH_MAX }],
  [/(?:^|\/)(?:hy|hunyuan-?)[3-9](?!b)/, { efforts: ['low', 'high'] }],
  // Cerebras's name
  [/^zai-glm-/, { efforts: LOW_TO_HIGH, thinkingOff: 'none' }],
  // OpenAI's open models, which all servers call alike
  [/(?:^|\/)gpt-oss/, { efforts: LOW_TO_HIGH, thinks: true, thinkingOff: 'never' }],
  [
    /^(?:models\/)?gemini-2\.5-flash/,
    { drop: UNKNOWN_TO_GEMINI, efforts: LOW_TO_HIGH, thinks: true, thinkingOff: 'none' },
  ],
  [
    /^(?:models\/)?gemini-(?:2\.5|[3-9])/,
    { drop: UNKNOWN_TO_GEMINI, efforts: LOW_TO_HIGH, thinks: true, thinkingOff: 'never' },
  ],
  // 4.20 came before 4.3
  [/^grok-(?:4(?:-|$|\.1|\.20)|build|code|composer)/, { drop: PENALTIES, efforts: [] }],
  [/^grok-4\.5/, { ...THINKING_GROK, efforts: LOW_TO_HIGH }],
  [/^grok-(?:4\.[6-9]|[5-9])/, { ...THINKING_GROK, efforts: [...LOW_TO_HIGH, 'xhigh'] }],
  [/^grok-/, { drop: PENALTIES }],
  [/^mistral-(?:small|medium)/, { efforts: ['high'], thinkingOff: 'none' }],
  [/^(?:mistral-large|ministral|codestral|devstral|pixtral)/, { efforts: [] }],
];

/**
 * Models that differ at servers of other companies. Groq's Qwen: "`reasoning_effort` must be one of `none` or `default`"; models that do not
 * reason take none. Sources: console.groq.com/docs/reasoning; inference-docs.cerebras.ai/capabilities/reasoning.
 */
const BY_SERVER: Partial<Record<KnownMembers['server'], readonly (readonly [RegExp, KnownModel])[]>> = {
  groq: [
    [/qwen/, { thinksInGroqsForm: true, thinks: true, thinkingOff: 'none' }],
    [/^(?!.*gpt-oss)/, { efforts: [] }],
  ],
  cerebras: [[/llama|instruct/, { efforts: [] }]],
};

/** Models that think whatever a server is told. */
const ALWAYS_THINKS = /thinking|qwq|deepseek-r1/;

/** Returns what a model rejects or requires, by its name in lower case, how its server caps thinking, and whose server it is. */
export function chatModel(
  model: string,
  cap: ThinkingCap | undefined,
  server: KnownMembers['server'] | undefined,
): { readonly drop: readonly string[]; readonly rules: ChatModelRules } {
  if (cap) {
    return { drop: [], rules: rulesWithCap(model, cap) };
  }
  const models = [...((server && BY_SERVER[server]) ?? []), ...BY_MAKERS_NAME];
  const { drop = [], ...known } = models.find(([name]) => name.test(model))?.[1] ?? {};
  return { drop, rules: { ...PLAIN_CHAT_RULES, ...known } };
}

/** Servers that cap thinking by itself turn it off with a member of their own, for the models of all makers. */
function rulesWithCap(model: string, cap: ThinkingCap): ChatModelRules {
  const always = ALWAYS_THINKS.test(model);
  const unforced = always
    ? ({ forcedTools: 'never', answers: 'text' } as const)
    : ({ forcedTools: 'without_thinking', answers: 'schema_without_thinking' } as const);
  return {
    ...PLAIN_CHAT_RULES,
    thinks: always || MAY_THINK.test(model),
    thinkingOff: always ? 'never' : 'enable_thinking',
    ...(!cap.forcesThinkers && unforced),
  };
}
