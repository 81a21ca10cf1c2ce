import { z } from 'zod';

/** Silence that is taken for death, in ms: an answer that began goes on … */
const IDLE_MS = 30_000;
/** … but Responses begin at once and say nothing while a model reasons. */
const REASONING_IDLE_MS = 300_000;

const timeouts = (idleMs: number) =>
  z
    .strictObject({
      connect_ms: z.int().min(10).max(60_000).default(3_000).describe('TCP and TLS'),
      first_byte_ms: z
        .int()
        .min(10)
        .max(600_000)
        .default(60_000)
        .describe(
          'from sending the request to the first event of a stream; a JSON answer gets more, by its length',
        ),
      idle_ms: z.int().min(10).max(600_000).default(idleMs).describe('between two pieces of an answer'),
      total_ms: z
        .int()
        .min(10)
        .max(3_600_000)
        .default(3_600_000)
        .describe("all the time spent waiting for the provider; a reader's own time does not count"),
    })
    .prefault({})
    .describe('in milliseconds');

/** Members that change what a call may cost or how soon it is served; no setting lets them through. */
const NEVER_PASSED = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n',
  'n_predict',
  'best_of',
  'min_tokens',
  'ignore_eos',
  'use_beam_search',
  'extra_body',
  'service_tier',
  'priority',
  'prediction',
  'audio',
  'modalities',
  'web_search_options',
  'search_parameters',
  'enable_search',
  'plugins',
  'data_sources',
  'prompt_cache_retention',
  'mcp_servers',
  'container',
  'inference_geo',
  'speed',
  'models',
  'fallbacks',
  // of Responses: kept at the provider, or made out of what is kept there
  'input',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
]);

const passedMember = z
  .string()
  .regex(/^[A-Za-z0-9_]{1,64}$/, 'must be the name of a member')
  .refine((name) => !NEVER_PASSED.has(name), 'changes what a call may cost: it cannot be let through');

const common = {
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, ".", "_", "-"')
    .describe('names it in routes and metrics'),
  on_disconnect: z
    .enum(['abort', 'drain'])
    .default('drain')
    .describe(
      'when the client leaves: `drain` reads the answer on for its usage; `abort` for providers that stop, and stop billing, when their connection is closed (vLLM, llama.cpp, Ollama)',
    ),
  pass_through: z
    .array(passedMember)
    .max(50)
    .default([])
    .describe(
      "members of a request that it is sent though the dialect's list lacks them, e.g. `chat_template_kwargs`; nothing that changes what a call costs",
    ),
};

const upstream = {
  ...common,
  base_url: z
    .url({ protocol: /^https?$/ })
    .describe('ends before `/chat/completions`, `/messages` or `/responses`'),
  api_key: z.string().default('').describe('from the environment, in quotes: see the top'),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string())
    .default({})
    .describe('sent with every call, over the ones we set'),
  query: z
    .record(z.string(), z.string())
    .default({})
    .describe("added to every URL, e.g. Azure's `api-version`"),
  timeouts: timeouts(IDLE_MS),
  record: z
    .strictObject({
      folder: z.string().min(1).describe('where they are written'),
      redact: z.boolean().default(true).describe('replaces the letters of texts'),
      most: z.int().min(1).max(10_000).default(100).describe('answers at most, by one process'),
    })
    .optional()
    .describe('writes answers as rows of the replay table; left out: nothing is written'),
  connections: z
    .int()
    .min(1)
    .max(20_000)
    .default(2_500)
    .describe('most connections to it; each carries one call at a time'),
};

const apiKeyHeader = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/)
  .optional()
  .describe('header that carries the key alone (Azure: `api-key`); left out: `Authorization: Bearer`');

const openai = z.strictObject({
  ...upstream,
  protocol: z.literal('openai').describe("speaks OpenAI's chat completions"),
  api_key_header: apiKeyHeader,
  max_tokens_field: z
    .enum(['max_tokens', 'max_completion_tokens'])
    .default('max_tokens')
    .describe('what the cap is called'),
  stream_usage: z.boolean().default(true).describe('whether it understands `stream_options.include_usage`'),
  developer_role: z
    .enum(['developer', 'system'])
    .default('system')
    .describe('what `developer` messages become'),
});

const anthropic = z.strictObject({
  ...upstream,
  protocol: z.literal('anthropic').describe("speaks Anthropic's messages"),
  version: z.string().default('2023-06-01').describe('sent as `anthropic-version`'),
});

const responses = z.strictObject({
  ...upstream,
  protocol: z.literal('responses').describe("speaks OpenAI's Responses"),
  timeouts: timeouts(REASONING_IDLE_MS),
  api_key_header: apiKeyHeader,
});

const builtin = z.strictObject({
  ...common,
  protocol: z.literal('builtin').describe('answers by itself, offline'),
  token_delay_ms: z.int().min(0).max(10_000).default(0).describe('pause after each streamed token'),
});

/** One entry of `providers:` in tollgate.yaml. */
export const providerSettingsSchema = z.discriminatedUnion('protocol', [
  openai,
  anthropic,
  responses,
  builtin,
]);

export type ProviderSettings = z.output<typeof providerSettingsSchema>;
export type OpenAiProviderSettings = z.output<typeof openai>;
export type AnthropicSettings = z.output<typeof anthropic>;
export type ResponsesSettings = z.output<typeof responses>;
export type BuiltinSettings = z.output<typeof builtin>;
export type UpstreamSettings = OpenAiProviderSettings | AnthropicSettings | ResponsesSettings;
