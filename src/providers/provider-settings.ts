import { z } from 'zod';
import { baseUrlField, headersField, keyField } from '../upstream/connection-settings.ts';

/** Default silence after which an answer that has started counts as dead, in ms. */
const IDLE_MS = 30_000;
/** The same while a model reasons: Responses start at once but are silent then, chat of OpenAI's models does not even start. */
const REASONING_IDLE_MS = 300_000;

const timeoutFields = (idleMs: number) => ({
  connect_ms: z.int().min(10).max(60_000).default(3_000).describe('TCP and TLS'),
  first_byte_ms: z
    .int()
    .min(10)
    .max(600_000)
    .default(60_000)
    .describe(
      'from sending the request to the first event of a stream; a JSON answer gets 50 ms more for each token it may have',
    ),
  idle_ms: z.int().min(10).max(600_000).default(idleMs).describe('between two pieces of an answer'),
  total_ms: z
    .int()
    .min(10)
    .max(3_600_000)
    .default(3_600_000)
    .describe('total time spent waiting for the provider; time spent waiting for the client does not count'),
});

const timeouts = (idleMs: number) =>
  z.strictObject(timeoutFields(idleMs)).prefault({}).describe('in milliseconds');

/** Timeouts of chat completions, whose servers may be silent while a model reasons. */
const chatTimeouts = z
  .strictObject({
    ...timeoutFields(IDLE_MS),
    reasoning_ms: z
      .int()
      .min(0)
      .max(3_600_000)
      .default(REASONING_IDLE_MS)
      .describe(
        'replaces `first_byte_ms` and `idle_ms` of streams, if longer, for models that reason: by their names, or by `reasoning` in their `supported_parameters`',
      ),
  })
  .prefault({})
  .describe('in milliseconds');

/** Members that affect what a call may cost or how soon it is served. No setting passes them through. */
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
  'billing_policy',
  // members of Responses that store data at the provider or use data stored there
  'input',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
  'thread',
]);

const passedMember = z
  .string()
  .regex(/^[A-Za-z0-9_]{1,64}$/, 'must be the name of a member: letters, digits and _')
  .refine((name) => !NEVER_PASSED.has(name), 'affects what a call may cost and cannot be passed through');

const common = {
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, ".", "_", "-"')
    .describe('its name in routes and metrics'),
  on_disconnect: z
    .enum(['abort', 'drain'])
    .default('drain')
    .describe(
      'what to do when the client disconnects: `drain` reads the rest of the answer to learn its usage; `abort` closes the connection, for providers that then stop generating and billing (vLLM, llama.cpp, Ollama)',
    ),
  pass_through: z
    .array(passedMember)
    .max(50)
    .default([])
    .describe(
      'extra request members to pass on that are not in the list of the dialect, e.g. `chat_template_kwargs`; members that affect the cost of a call are not allowed',
    ),
};

const upstream = {
  ...common,
  base_url: baseUrlField.describe('base URL, without `/chat/completions`, `/messages` or `/responses`'),
  api_key: keyField.default('').describe('from the environment, in quotes: see the top of this page'),
  headers: headersField.default({}).describe('sent with every call; they override the ones Tollgate sets'),
  query: z
    .record(z.string(), z.string())
    .default({})
    .describe("added to every URL, e.g. Azure's `api-version`"),
  timeouts: timeouts(IDLE_MS),
  record: z
    .strictObject({
      folder: z.string().min(1).describe('folder to write them to'),
      redact: z.boolean().default(true).describe('replaces letters and digits in texts'),
      most: z.int().min(1).max(10_000).default(100).describe('maximum number of answers per process'),
    })
    .optional()
    .describe('records answers as rows of the replay table; nothing is recorded if omitted'),
  connections: z
    .int()
    .min(1)
    .max(20_000)
    .default(2_500)
    .describe('maximum connections to it; each carries one call at a time'),
};

const apiKeyHeader = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/)
  .optional()
  .describe('header that carries just the key (Azure: `api-key`); `Authorization: Bearer` if omitted');

const openai = z.strictObject({
  ...upstream,
  timeouts: chatTimeouts,
  protocol: z.literal('openai').describe("speaks OpenAI's chat completions"),
  api_key_header: apiKeyHeader,
  max_tokens_field: z
    .enum(['max_tokens', 'max_completion_tokens'])
    .optional()
    .describe(
      'name of the member that caps the output. If omitted, `max_completion_tokens` for OpenAI and Azure OpenAI, for models with names of OpenAI’s reasoning models, and for hosts of volces.com and bytepluses.com (Ark), whose `max_tokens` leaves thinking out; otherwise `max_tokens`',
    ),
  max_tokens_covers: z
    .enum(['everything', 'answer'])
    .optional()
    .describe(
      "what that member caps. `answer`: thinking has a cap of its own, `thinking_budget`, as at Alibaba's DashScope and SiliconFlow; Tollgate sets both, and together they are the cap of the call. If omitted, `answer` for hosts of aliyuncs.com, siliconflow.cn and siliconflow.com, otherwise `everything`",
    ),
  stream_usage: z
    .boolean()
    .optional()
    .describe(
      'whether it supports `stream_options.include_usage`. If omitted, `false` for hosts of mistral.ai, whose streams end with their usage unasked, otherwise `true`',
    ),
  developer_role: z
    .enum(['developer', 'system'])
    .default('system')
    .describe('role sent for `developer` messages'),
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
