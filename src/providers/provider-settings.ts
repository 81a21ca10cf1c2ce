import { z } from 'zod';

const timeouts = z
  .strictObject({
    /** TCP and TLS, in ms. */
    connect_ms: z.int().min(10).max(60_000).default(3_000),
    /** From sending the request to the first event of a stream, in ms. A JSON answer gets more, by its length. */
    first_byte_ms: z.int().min(10).max(600_000).default(60_000),
    /** Between two pieces of an answer, in ms. */
    idle_ms: z.int().min(10).max(600_000).default(30_000),
    /** All the time of a call that is spent waiting for the provider, in ms; a reader's own time does not count. */
    total_ms: z.int().min(10).max(3_600_000).default(3_600_000),
  })
  .prefault({});

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
]);

const passedMember = z
  .string()
  .regex(/^[A-Za-z0-9_]{1,64}$/, 'must be the name of a member')
  .refine((name) => !NEVER_PASSED.has(name), 'changes what a call may cost: it cannot be let through');

const common = {
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, ".", "_", "-"'),
  /** `abort`: the provider stops, and stops billing, when its connection is closed; `drain`: it bills on, so read on. */
  on_disconnect: z.enum(['abort', 'drain']).default('drain'),
  /** Members of a request that this provider is sent though the dialect's list lacks them, e.g. `chat_template_kwargs`. */
  pass_through: z.array(passedMember).max(50).default([]),
};

const upstream = {
  ...common,
  base_url: z.url({ protocol: /^https?$/ }),
  api_key: z.string().default(''),
  /** Sent with every call, over the ones we set. */
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string()).default({}),
  /** Added to every URL, e.g. Azure's `api-version`. */
  query: z.record(z.string(), z.string()).default({}),
  timeouts,
  /** Writes answers as rows of the replay table into a folder; absent: nothing is written. */
  record: z
    .strictObject({
      folder: z.string().min(1),
      /** Replaces the letters of texts. */
      redact: z.boolean().default(true),
      /** Answers at most, by one process. */
      most: z.int().min(1).max(10_000).default(100),
    })
    .optional(),
  /** Most connections to the origin; each carries one call at a time. */
  connections: z.int().min(1).max(20_000).default(2_500),
};

const openai = z.strictObject({
  ...upstream,
  protocol: z.literal('openai'),
  /** Header that carries the key alone (Azure: `api-key`); absent: `Authorization: Bearer`. */
  api_key_header: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/)
    .optional(),
  max_tokens_field: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** Whether `stream_options: {include_usage: true}` is understood. */
  stream_usage: z.boolean().default(true),
  /** What `developer` messages become, for servers that know only `system`. */
  developer_role: z.enum(['developer', 'system']).default('system'),
});

const anthropic = z.strictObject({
  ...upstream,
  protocol: z.literal('anthropic'),
  /** Sent as `anthropic-version`. */
  version: z.string().default('2023-06-01'),
});

const builtin = z.strictObject({
  ...common,
  protocol: z.literal('builtin'),
  /** Pause after each streamed token, in ms. */
  token_delay_ms: z.int().min(0).max(10_000).default(0),
});

/** One entry of `providers:` in tollgate.yaml. */
export const providerSettingsSchema = z.discriminatedUnion('protocol', [openai, anthropic, builtin]);

export type ProviderSettings = z.output<typeof providerSettingsSchema>;
export type OpenAiSettings = z.output<typeof openai>;
export type AnthropicSettings = z.output<typeof anthropic>;
export type BuiltinSettings = z.output<typeof builtin>;
export type UpstreamSettings = OpenAiSettings | AnthropicSettings;
