import { z } from 'zod';
import { gpuMemorySettings } from '../engines/gpu-memory.ts';
import { VIDEO_DURATION_MS_MAX } from '../media/media-limits.ts';
import { providerSettingsSchema } from '../providers/provider-settings.ts';
import { MODEL_ENDPOINTS } from './catalog.types.ts';
import { PRICE_NAMES, type PriceName, parsePrice } from './pricing.ts';
import { runSettings } from './run-policy.ts';

const price = z
  .string({ message: 'must be a quoted decimal of USD, e.g. "0.0000006"' })
  .transform((text, context) => {
    const parsed = parsePrice(text);
    if (parsed === undefined) {
      context.addIssue({ code: 'custom', message: 'must be a plain decimal of USD with up to 12 decimals' });
      return z.NEVER;
    }
    return parsed;
  });

/** USD by what is counted, and what a price that is left out means. */
const PRICED: Readonly<Record<PriceName, string>> = {
  prompt: 'per input token',
  completion: 'per output token',
  request: 'per call or order',
  image: 'per image',
  web_search: 'only "0": searches are not counted; a model that always searches has their price in `request`',
  internal_reasoning: 'per reasoning token; left out, as `completion`',
  input_cache_read: 'per input token from a cache; left out, as `prompt`',
  input_cache_write: 'per input token written to a cache; left out, as `prompt`',
};
/** All eight members, zero where the file says nothing: for the prices of caches and reasoning that means "as the others". */
const pricing = z.strictObject(
  Object.fromEntries(
    PRICE_NAMES.map((name) => [name, price.default(0n).describe(`USD ${PRICED[name]}`)]),
  ) as Record<PriceName, z.ZodDefault<typeof price>>,
);
/** What a model sells, besides by the second. */
const modelPricing = pricing.extend({ second: price.default(0n).describe('USD per second of video') });

const SIZE = /^(\d{2,4})[*x](\d{2,4})$/;
const SIDE_MIN = 64;
const SIDE_MAX = 4_096;
const side = z.int().min(SIDE_MIN).max(SIDE_MAX);
const size = z.string().transform((text, context) => {
  const [, width, height] = SIZE.exec(text)?.map(Number) ?? [];
  const fits = (pixels = 0) => pixels >= SIDE_MIN && pixels <= SIDE_MAX;
  if (!fits(width) || !fits(height)) {
    context.addIssue({
      code: 'custom',
      message: `must be like 1024*1024, sides ${SIDE_MIN} to ${SIDE_MAX} pixels`,
    });
    return z.NEVER;
  }
  return { width: width ?? 0, height: height ?? 0 };
});

const step = z.int().min(1).max(1_000);

/** What orders of an image or video model may ask for. */
const media = z.strictObject({
  sizes: z.array(size).min(1).max(100).optional().describe('sizes offered; the first is the default'),
  sides: z
    .strictObject({ min: side, max: side })
    .optional()
    .describe('instead of `sizes`: any width and height within, in pixels'),
  default_size: size.optional().describe('left out: the first of `sizes`, else 1024*1024'),
  steps: z
    .strictObject({ min: step, max: step, default: step })
    .optional()
    .describe('left out: the model does not take steps'),
  seconds: z
    .array(
      z
        .int()
        .min(1)
        .max(VIDEO_DURATION_MS_MAX / 1_000),
    )
    .min(1)
    .max(VIDEO_DURATION_MS_MAX / 1_000)
    .optional()
    .describe('video lengths offered; the first is the default'),
  prices: z
    .record(z.string(), z.strictObject({ request: price, image: price, second: price }).partial())
    .transform((bySize, context) =>
      Object.entries(bySize).map(([text, prices]) => {
        const parsed = size.safeParse(text);
        if (!parsed.success) {
          context.addIssue({
            code: 'custom',
            path: [text],
            message: parsed.error.issues[0]?.message ?? 'no size',
          });
        }
        return [parsed.data ?? { width: 0, height: 0 }, prices] as const;
      }),
    )
    .optional()
    .describe('by size, e.g. `2048*2048`: prices that differ for it'),
});

const CONDITION = /^unavailable$|^waiting > ([1-9]\d{0,5})s$/;
const condition = z
  .string()
  .regex(CONDITION, 'must be unavailable, or like: waiting > 60s')
  .transform((text) => {
    const seconds = CONDITION.exec(text)?.[1];
    return seconds === undefined ? ('unavailable' as const) : { waitingMs: Number(seconds) * 1_000 };
  });

/** A route to a provider, and one to an engine. */
export const modelRoutes = [
  z.strictObject({
    provider: z.string().describe('id of an entry of `providers`'),
    model: z.string().min(1).describe("the provider's name of the model"),
    pricing: pricing
      .optional()
      .describe('what the provider bills us, for the margin; customers pay the price of the model'),
    drop: z
      .array(z.enum(['temperature', 'top_p', 'top_k']))
      .optional()
      .describe("settings that this model refuses, left out of requests; left out: by the model's name"),
    thinking: z
      .enum(['budget', 'adaptive'])
      .optional()
      .describe("how this model is asked to think; left out: by the model's name"),
    tool_ids: z
      .enum(['any', 'openai', 'mistral'])
      .optional()
      .describe("whose form ids of tool calls must have; left out: by the model's name"),
  }),
  z.strictObject({
    engine: z.string().describe('id of an entry of `engines`'),
    model: z
      .string()
      .min(1)
      .default('default')
      .describe("the engine's name of the model; `default` names none"),
    when: condition
      .optional()
      .describe(
        '`unavailable`: tasks go on to this route while no live worker serves those before it; `waiting > 60s`: those that have waited that long do. Not for the first route; left out of others: `unavailable`',
      ),
    runs: runSettings.optional().describe("over the engine's"),
    extra: z
      .record(z.string(), z.json())
      .optional()
      .describe(
        'members added to the body of every order of this model, over the engine\'s `extra`; for `comfyui` values by place, e.g. `{ "3.inputs.cfg": 4 }`',
      ),
  }),
] as const;
const route = z.union(modelRoutes, { error: 'must be { provider, model } or { engine, model }' });

const modelId = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/, 'must be a name like acme/small');
const tokens = z.int().min(1).max(100_000_000).optional();
const itemTokens = (what: string) =>
  tokens.describe(`maximum tokens that one ${what} can cost; left out: the rest of the context is held`);

/** One entry of `models:`. */
export const modelEntry = z.strictObject({
  id: modelId.describe('the id that callers use; unique among ids and aliases'),
  aliases: z.array(modelId).max(20).default([]).describe('other ids for it'),
  name: z.string().min(1).max(200).optional().describe('for people; left out: the id'),
  description: z.string().max(2000).default('').describe('for people'),
  categories: z.array(z.string().min(1).max(50)).max(20).default([]).describe('for the filter `?category=`'),
  endpoints: z
    .array(z.enum(MODEL_ENDPOINTS))
    .min(1)
    .describe('where it can be called; `image` and `video` models have one endpoint, and routes to engines'),
  context_length: tokens.describe(
    'tokens in and out; required for text models. Must not be lower than what the provider really accepts, because it bounds the hold',
  ),
  max_output_tokens: tokens.describe('required for text models; also bounds the hold'),
  image_tokens: itemTokens('image'),
  image_pixels_per_token: z
    .number()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      'for images billed by area: this many pixels are one token; `image_tokens` remains the maximum',
    ),
  file_tokens: itemTokens('file'),
  file_page_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'maximum tokens that one page of a PDF can cost; a dense page of text has 3,000, its picture 1,600',
    ),
  audio_tokens: itemTokens('audio input'),
  video_tokens: itemTokens('video'),
  input_modalities: z
    .array(z.enum(['text', 'image', 'file', 'audio', 'video']))
    .min(1)
    .default(['text'])
    .describe('input types it accepts; other input is rejected with 400 before anything is held'),
  tokenizer: z.string().max(50).default('Other').describe('only published by `/api/v1/models`'),
  supported_parameters: z
    .array(z.string())
    .max(50)
    .optional()
    .describe('published by `/api/v1/models`; left out: what both dialects know'),
  media: media.optional().describe('what orders may ask for; left out: as `image-turbo` or `video-fast`'),
  pricing: modelPricing.prefault({}).describe('what the customer pays, quoted decimals of USD'),
  routes: z
    .array(route)
    .min(1)
    .describe('who serves it; the second is asked when the first one fails, or as its `when` says'),
});

const engine = z.looseObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    .describe('names the pool; routes, queues and metrics use it'),
  kind: z.string().min(1).describe('what it is; decides which settings it takes'),
  runs: runSettings.optional().describe('how its runs are judged and repeated'),
  gpu_memory: gpuMemorySettings
    .optional()
    .describe('what its server takes of a GPU that it shares with others'),
});

const limits = z
  .strictObject({
    requests_per_minute: z.int().min(1).max(10_000_000).default(600).describe('requests'),
    tokens_per_minute: z.int().min(1).max(10_000_000_000).default(1_000_000).describe('tokens in and out'),
    concurrency: z.int().min(1).max(100_000).default(50).describe('paid calls in flight at once'),
    queued_tasks: z.int().min(1).max(1_000_000).default(1_000).describe('tasks that may wait for one pool'),
  })
  .prefault({})
  .describe('of an account, for all its keys together');

const path = z
  .string()
  .regex(/^\/(?:[A-Za-z0-9._~/-]*|(?:[A-Za-z0-9._~-]+\/)+\*)$/, 'must be a path, or one that ends in /*');
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
  .transform((name) => name.toLowerCase());

const aliases = z
  .strictObject({
    paths: z
      .record(path, path.nullable())
      .default({})
      .describe('path → path of a route; both may end in `/*`; null turns a built-in one off'),
    headers: z
      .record(header, header.nullable())
      .default({})
      .describe('header of the request → header that is sent'),
  })
  .prefault({})
  .describe('other names for our paths and headers');

const line = z.string().trim().min(1).max(100);
const seller = z.strictObject({
  name: line.describe('the seller named on statements and receipts'),
  address: z.array(line).max(8).default([]).describe('its lines'),
  tax_id: line.nullable().default(null).describe('of the seller'),
  tax: z
    .strictObject({
      name: line.describe('e.g. VAT'),
      percent: z
        .string({ message: 'must be a quoted decimal, e.g. "19"' })
        .regex(/^\d{1,2}(\.\d{1,3})?$/, 'must be a percentage with up to 3 decimals')
        .describe('a quoted decimal'),
    })
    .nullable()
    .default(null)
    .describe('tax included in the price of credits; without it receipts show no tax'),
  notes: z.array(z.string().trim().min(1).max(300)).max(5).default([]).describe('sentences at the end'),
});

/** tollgate.yaml, after interpolation. */
export const catalogFile = z.strictObject({
  providers: z.array(providerSettingsSchema).default([]).describe('who answers text models'),
  models: z
    .array(modelEntry)
    .default([])
    .describe('what is sold, at least one; only a worker with `WORKER_API` needs none'),
  engines: z
    .array(engine)
    .default([])
    .describe('who makes images and videos; each is a pool with a queue of its own'),
  limits,
  aliases,
  seller: seller.optional().describe('the seller named on statements and receipts'),
});

export type CatalogFile = z.output<typeof catalogFile>;
export type MediaEntry = z.output<typeof media>;
export type ModelEntry = CatalogFile['models'][number];
