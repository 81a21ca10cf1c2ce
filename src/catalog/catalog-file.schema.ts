import { z } from 'zod';
import { gpuMemorySettings } from '../engines/gpu-memory.ts';
import { VIDEO_DURATION_MS_MAX } from '../media/media-limits.ts';
import { providerSettingsSchema } from '../providers/provider-settings.ts';
import { MODEL_ENDPOINTS } from './catalog.types.ts';
import { modelRoute } from './model-routes.schema.ts';
import { modelPricing, price } from './prices.schema.ts';
import { runSettings } from './run-policy.ts';

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

/** Options that orders of an image or video model may set. */
const media = z.strictObject({
  sizes: z.array(size).min(1).max(100).optional().describe('sizes offered; the first is the default'),
  sides: z
    .strictObject({ min: side, max: side })
    .optional()
    .describe('instead of `sizes`: any width and height in this range, in pixels'),
  default_size: size.optional().describe('default: the first of `sizes`; with `sides`: 1024*1024'),
  steps: z
    .strictObject({ min: step, max: step, default: step })
    .optional()
    .describe('denoising steps; if omitted, the model does not take steps'),
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
    .describe('different prices for a size, e.g. for `2048*2048`'),
});

const modelId = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/, 'must be a name like acme/small');
const tokens = z.int().min(1).max(100_000_000).optional();
const itemTokens = (what: string) =>
  tokens.describe(`maximum tokens that one ${what} can cost; if omitted, the rest of the context is held`);

/** One entry of `models:`. */
export const modelEntry = z.strictObject({
  id: modelId.describe('the id that callers use; unique among ids and aliases'),
  aliases: z.array(modelId).max(20).default([]).describe('other ids for it'),
  name: z.string().min(1).max(200).optional().describe('display name; defaults to the id'),
  description: z.string().max(2000).default('').describe('description for people'),
  categories: z.array(z.string().min(1).max(50)).max(20).default([]).describe('for the filter `?category=`'),
  endpoints: z
    .array(z.enum(MODEL_ENDPOINTS))
    .min(1)
    .describe('endpoints it is called through; `image` and `video` models have one, and routes to engines'),
  context_length: tokens.describe(
    'input and output tokens together; required for text models. Must not be lower than what the provider really accepts, because it bounds the hold',
  ),
  max_output_tokens: tokens.describe('required for text models; also bounds the hold'),
  image_tokens: itemTokens('image'),
  image_pixels_per_token: z
    .number()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('for images billed by area: pixels per token; `image_tokens` remains the maximum'),
  file_tokens: itemTokens('file'),
  file_page_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'maximum tokens that one page of a PDF can cost; a dense page has 3,000 tokens as text and 1,600 as an image; pages with more text are held by their text',
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
    .describe('published by `/api/v1/models`; defaults to the usual parameters of the endpoints'),
  media: media.optional().describe('options of orders; default: those of `image-turbo` or `video-fast`'),
  pricing: modelPricing.prefault({}).describe('what the customer pays, as quoted decimals of USD'),
  routes: z
    .array(modelRoute)
    .min(1)
    .describe('who serves it: later routes are used when earlier ones fail, or as their `when` says'),
});

const engine = z.looseObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    .describe('name of the pool, used by routes, queues and metrics'),
  kind: z.string().min(1).describe('kind of engine; determines its other settings'),
  runs: runSettings.optional().describe('time limits and retries of its runs'),
  gpu_memory: gpuMemorySettings
    .optional()
    .describe('memory its server uses on a GPU that it shares with others'),
});

const limits = z
  .strictObject({
    requests_per_minute: z.int().min(1).max(10_000_000).default(600).describe('requests'),
    tokens_per_minute: z.int().min(1).max(10_000_000_000).default(1_000_000).describe('tokens in and out'),
    concurrency: z.int().min(1).max(100_000).default(50).describe('paid calls in flight at once'),
    queued_tasks: z.int().min(1).max(1_000_000).default(1_000).describe('tasks waiting for one pool at once'),
  })
  .prefault({})
  .describe('limits of an account, for all its keys together');

const path = z
  .string()
  .regex(/^\/(?:[A-Za-z0-9._~/-]*|(?:[A-Za-z0-9._~-]+\/)+\*)$/, 'must be a path, which may end in /*');
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
  .transform((name) => name.toLowerCase());

const aliases = z
  .strictObject({
    paths: z
      .record(path, path.nullable())
      .default({})
      .describe('alias → path of a route; both may end in `/*`; null disables a built-in alias'),
    headers: z
      .record(header, header.nullable())
      .default({})
      .describe('alias → request header that it stands for; null disables a built-in alias'),
  })
  .prefault({})
  .describe("other names for Tollgate's paths and headers");

const line = z.string().trim().min(1).max(100);
const seller = z.strictObject({
  name: line.describe('name of the seller'),
  address: z.array(line).max(8).default([]).describe('address lines'),
  tax_id: line.nullable().default(null).describe('tax id of the seller'),
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
  notes: z.array(z.string().trim().min(1).max(300)).max(5).default([]).describe('closing sentences'),
});

/** The schema of tollgate.yaml after interpolation. */
export const catalogFile = z.strictObject({
  providers: z.array(providerSettingsSchema).default([]).describe('servers that run text models'),
  models: z
    .array(modelEntry)
    .default([])
    .describe('the models for sale, at least one; only a worker with `WORKER_API` needs none'),
  engines: z
    .array(engine)
    .default([])
    .describe('what generates images and videos; each is a pool with its own queue'),
  limits,
  aliases,
  seller: seller.optional().describe('the seller named on statements and receipts'),
});

export type CatalogFile = z.output<typeof catalogFile>;
export type MediaEntry = z.output<typeof media>;
export type ModelEntry = CatalogFile['models'][number];
