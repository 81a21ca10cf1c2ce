import { z } from 'zod';
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

/** All eight members, zero where the file says nothing: for the prices of caches and reasoning that means "as the others". */
const pricing = z.strictObject(
  Object.fromEntries(PRICE_NAMES.map((name) => [name, price.default(0n)])) as Record<
    PriceName,
    z.ZodDefault<typeof price>
  >,
);
/** What a model sells, besides by the second. */
const modelPricing = pricing.extend({ second: price.default(0n) });

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

/** What orders of an image or video model may ask for. */
const media = z.strictObject({
  /** The first is the default. */
  sizes: z.array(size).min(1).max(100).optional(),
  /** Instead of sizes: any width and height within. */
  sides: z.strictObject({ min: side, max: side }).optional(),
  default_size: size.optional(),
  steps: z
    .strictObject({
      min: z.int().min(1).max(1_000),
      max: z.int().min(1).max(1_000),
      default: z.int().min(1).max(1_000),
    })
    .optional(),
  /** Lengths on offer; the first is the default. */
  seconds: z
    .array(
      z
        .int()
        .min(1)
        .max(VIDEO_DURATION_MS_MAX / 1_000),
    )
    .min(1)
    .max(VIDEO_DURATION_MS_MAX / 1_000)
    .optional(),
  /** By size: what is priced otherwise there. */
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
    .optional(),
});

const route = z.union(
  [
    z.strictObject({
      provider: z.string(),
      model: z.string().min(1),
      pricing: pricing.optional(),
      /** Settings that this model refuses, left out of requests to it; absent: by the model's name. */
      drop: z.array(z.enum(['temperature', 'top_p', 'top_k'])).optional(),
      /** How this model is asked to think: by a budget of tokens or adaptively; absent: by the model's name. */
      thinking: z.enum(['budget', 'adaptive']).optional(),
      /** Whose form the ids of tool calls must have; absent: by the model's name. */
      tool_ids: z.enum(['any', 'openai', 'mistral']).optional(),
    }),
    z.strictObject({
      engine: z.string(),
      model: z.string().min(1).default('default'),
      /** Wins over the engine's. */
      runs: runSettings.optional(),
    }),
  ],
  { error: 'must be { provider, model } or { engine, model }' },
);

const modelId = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/, 'must be a name like acme/small');
/** Most tokens one item of the input can cost. */
const itemTokens = z.int().min(1).max(100_000_000).optional();

const model = z.strictObject({
  id: modelId,
  aliases: z.array(modelId).max(20).default([]),
  name: z.string().min(1).max(200).optional(),
  description: z.string().max(2000).default(''),
  categories: z.array(z.string().min(1).max(50)).max(20).default([]),
  endpoints: z.array(z.enum(MODEL_ENDPOINTS)).min(1),
  context_length: z.int().min(1).max(100_000_000).optional(),
  max_output_tokens: z.int().min(1).max(100_000_000).optional(),
  image_tokens: itemTokens,
  /** For models that count an image by its area: so many pixels cost one token. `image_tokens` stays the most. */
  image_pixels_per_token: z.number().min(1).max(1_000_000).optional(),
  file_tokens: itemTokens,
  /** Most tokens one page of a PDF can cost: by default a dense page of text (3,000) and its picture (1,600), with room. */
  file_page_tokens: z.int().min(1).max(1_000_000).default(5_000),
  audio_tokens: itemTokens,
  video_tokens: itemTokens,
  input_modalities: z
    .array(z.enum(['text', 'image', 'file', 'audio', 'video']))
    .min(1)
    .default(['text']),
  tokenizer: z.string().max(50).default('Other'),
  supported_parameters: z.array(z.string()).max(50).optional(),
  media: media.optional(),
  pricing: modelPricing.prefault({}),
  routes: z.array(route).min(1),
});

const engine = z.looseObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  kind: z.string().min(1),
  runs: runSettings.optional(),
});

const limits = z
  .strictObject({
    requests_per_minute: z.int().min(1).max(10_000_000).default(600),
    tokens_per_minute: z.int().min(1).max(10_000_000_000).default(1_000_000),
    concurrency: z.int().min(1).max(100_000).default(50),
    /** Tasks of one account that may wait for one pool. */
    queued_tasks: z.int().min(1).max(1_000_000).default(1_000),
  })
  .prefault({});

const path = z
  .string()
  .regex(/^\/(?:[A-Za-z0-9._~/-]*|(?:[A-Za-z0-9._~-]+\/)+\*)$/, 'must be a path, or one that ends in /*');
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
  .transform((name) => name.toLowerCase());

const aliases = z
  .strictObject({
    paths: z.record(path, path.nullable()).default({}),
    headers: z.record(header, header.nullable()).default({}),
  })
  .prefault({});

const line = z.string().trim().min(1).max(100);
const seller = z.strictObject({
  name: line,
  address: z.array(line).max(8).default([]),
  tax_id: line.nullable().default(null),
  tax: z
    .strictObject({
      name: line,
      percent: z
        .string({ message: 'must be a quoted decimal, e.g. "19"' })
        .regex(/^\d{1,2}(\.\d{1,3})?$/, 'must be a decimal of percent with up to 3 decimals'),
    })
    .nullable()
    .default(null),
  notes: z.array(z.string().trim().min(1).max(300)).max(5).default([]),
});

/** tollgate.yaml, after interpolation. */
export const catalogFile = z.strictObject({
  providers: z.array(providerSettingsSchema).default([]),
  models: z.array(model).min(1),
  engines: z.array(engine).default([]),
  limits,
  aliases,
  seller: seller.optional(),
});

export type CatalogFile = z.output<typeof catalogFile>;
export type MediaEntry = z.output<typeof media>;
export type ModelEntry = CatalogFile['models'][number];
