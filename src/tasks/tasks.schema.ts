import { z } from 'zod';
import { areListed, type MediaOptions, offersSize, sizeText } from '../catalog/media-options.ts';
import { httpUrl, storableText } from '../http/input/wire-shapes.ts';

const VIDEO_PROMPT_CODE_POINTS_MAX = 2_000;
const SIZE_PATTERN = /^(\d{1,5})\*(\d{1,5})$/;

const PROMPT = storableText.min(1, 'must not be empty');

/** 1 to 2,000 Unicode code points: an emoji counts as one, as it does for the person who typed it. */
const VIDEO_PROMPT = PROMPT.refine(
  (text) => codePoints(text) <= VIDEO_PROMPT_CODE_POINTS_MAX,
  `must have 1 to ${VIDEO_PROMPT_CODE_POINTS_MAX} characters (Unicode code points)`,
).meta({ minLength: 1, maxLength: VIDEO_PROMPT_CODE_POINTS_MAX });

const EXTRA = z
  .object({
    webhook: z
      .object({
        url: httpUrl,
        test_mode: z
          .object({
            // Running and charging a task that the caller means as a test would be worse than an error.
            enabled: z.literal(false, { message: 'is not supported; leave it out' }).optional(),
          })
          .optional(),
      })
      .optional(),
  })
  .optional();

const EXTRA_DESCRIPTION = {
  type: 'object',
  description: 'Options of the order that are not for the model',
  properties: {
    webhook: {
      type: 'object',
      description:
        'Endpoint that is notified when the task ends; it cannot be combined with enable_base64_output',
      properties: {
        url: {
          type: 'string',
          format: 'uri',
          description:
            'Receives ASYNC_TASK_RESULT, signed; http or https, a public address, up to 2048 characters',
        },
      },
    },
  },
} as const;

/**
 * Validates the body of a video order by the options of its model: sides in pixels, seed, steps, seconds. A member that the model
 * does not declare is rejected: it would be paid for and ignored.
 */
export const videoOrder = onceForEach((options) => {
  const { sizes, defaultSize } = options;
  return z
    .object({
      model_name: z.string(),
      width: withDefault(side(sizes, 'width'), defaultSize?.width),
      height: withDefault(side(sizes, 'height'), defaultSize?.height),
      ...commonMembers(options),
      prompt: VIDEO_PROMPT,
      extra: EXTRA,
    })
    .refine((order) => offersSize(options, order), { path: ['height'], message: heightByWidth(sizes) });
});

/** Validates the body of an image order by the options of its model. */
export const imageOrder = onceForEach((options) => {
  const { defaultSize } = options;
  return z
    .object({
      size: withDefault(sizeMember(options), defaultSize && sizeText(defaultSize)),
      ...commonMembers(options),
      prompt: PROMPT,
      enable_base64_output: z.boolean().default(false),
      extra: EXTRA,
    })
    .refine((body) => !(body.enable_base64_output && body.extra?.webhook), {
      path: ['enable_base64_output'],
      message: 'cannot be combined with extra.webhook: the event carries URLs',
    });
});

/** Builds each schema once: they are expensive to build, and a catalog has one for each of its models. */
function onceForEach<Schema extends z.ZodType>(
  build: (options: MediaOptions) => Schema,
): (options: MediaOptions) => Schema {
  const built = new WeakMap<MediaOptions, Schema>();
  return (options) => {
    const schema = built.get(options) ?? build(options);
    built.set(options, schema);
    return schema;
  };
}

function commonMembers({ seedMax, defaultSeed, steps, seconds, declared }: MediaOptions) {
  const lengths = seconds ?? [];
  // The interface's own models ignore members that they do not know.
  const NOT_TAKEN = declared
    ? z.never({ message: 'is not supported by this model; leave it out' }).optional()
    : z
        .unknown()
        .transform(() => undefined)
        .optional();
  return {
    seed: withDefault(z.int().min(-1).max(seedMax), defaultSeed),
    steps: steps ? withDefault(z.int().min(steps.min).max(steps.max), steps.default) : NOT_TAKEN,
    seconds: seconds
      ? withDefault(
          z.int().refine((length) => lengths.includes(length), `must be ${choice(lengths)}`),
          lengths[0],
        )
      : NOT_TAKEN,
  };
}

function side(sizes: MediaOptions['sizes'], name: 'width' | 'height') {
  if (!areListed(sizes)) {
    const { min, max, multiple } = sizes;
    return z
      .int()
      .min(min)
      .max(max)
      .refine((pixels) => pixels % multiple === 0, 'must be even');
  }
  const sides = [...new Set(sizes.map((size) => size[name]))].sort((a, b) => a - b);
  return z.int().refine((pixels) => sides.includes(pixels), `must be ${choice(sides)}`);
}

function heightByWidth(sizes: MediaOptions['sizes']): string {
  const pairs = areListed(sizes) ? sizes : [];
  return `must be ${pairs.map(({ width, height }) => `${height} when width is ${width}`).join(', and ')}`;
}

/** Returns what a size must be, in words, with `by` between its sides. */
export function sizeRule(sizes: MediaOptions['sizes'], by: '*' | 'x'): string {
  return areListed(sizes)
    ? `must be ${choice(sizes.map((size) => `${size.width}${by}${size.height}`))}`
    : `must be width${by}height, each ${sizes.min} to ${sizes.max} pixels${sizes.multiple === 2 ? ', even' : ''}`;
}

function sizeMember(options: MediaOptions) {
  const rule = sizeRule(options.sizes, '*');
  return z.string().transform((text, context) => {
    const [, width = 0, height = 0] = SIZE_PATTERN.exec(text)?.map(Number) ?? [];
    if (!offersSize(options, { width, height })) {
      context.addIssue({ code: 'custom', message: rule });
      return z.NEVER;
    }
    return { width, height };
  });
}

/** Returns the member with its default if it has one; otherwise it is required. */
function withDefault<Member extends z.ZodType>(member: Member, value: z.input<Member> | undefined) {
  return value === undefined ? member : member.prefault(value as never);
}

/** "5, 10 or 15" */
function choice(values: readonly (string | number)[]): string {
  const last = values.at(-1);
  return values.length < 2 ? String(last) : `${values.slice(0, -1).join(', ')} or ${last}`;
}

/** Accepts an order as it is, or wrapped as Novita's SDKs send it: `{ request: { … }, extra: { … } }`. */
function wrappedOrPlain<Order extends z.ZodType>(order: Order) {
  return z.preprocess((body) => {
    if (typeof body !== 'object' || body === null || !('request' in body) || 'prompt' in body) {
      return body;
    }
    const { request, extra } = body as { readonly request: unknown; readonly extra?: unknown };
    return typeof request === 'object' && request !== null && !Array.isArray(request)
      ? { ...request, ...(extra !== undefined && extra !== null && { extra }) }
      : body;
  }, order);
}

const BY_MODEL = 'GET /api/v1/models lists what each model offers, under media.';

/** A member that the schema of the order's model validates; described only for the API document. */
function described(type: 'string' | 'integer' | 'boolean', description: string, examples: unknown[] = []) {
  return z
    .unknown()
    .optional()
    .meta({ type, description, ...(examples.length > 0 && { examples }) });
}

/** Body of POST /v3/async/video-fast until its model is known; then {@link videoOrder} validates it. */
export const VIDEO_SUBMIT = wrappedOrPlain(
  z
    .looseObject({
      model_name: z
        .string({ message: 'must be the id of a video model, e.g. video-fast' })
        .meta({ description: 'Id of a video model', examples: ['video-fast'] }),
      width: described('integer', 'video-fast: 1280 or 720, required', [1_280]),
      height: described(
        'integer',
        'video-fast: 720 when width is 1280, 1280 when width is 720; required',
        [720],
      ),
      seed: described('integer', 'video-fast: -1 to 9999999999, required; -1 picks one at random', [7]),
      steps: described('integer', 'video-fast: 2 to 30, required', [20]),
      seconds: described('integer', 'Length of the video in seconds, one of those that the model offers'),
      prompt: described('string', `1 to ${VIDEO_PROMPT_CODE_POINTS_MAX} characters (Unicode code points)`),
      extra: z.unknown().optional().meta(EXTRA_DESCRIPTION),
    })
    .meta({ description: BY_MODEL, required: ['model_name', 'prompt'] }),
);

/** Body of POST /v3/async/{model} until its model is known; then {@link imageOrder} validates it. */
export const IMAGE_SUBMIT = wrappedOrPlain(
  z
    .looseObject({
      seed: described('integer', '-1 to 2147483647; -1, the default, picks one at random', [7]),
      size: described('string', 'width*height in pixels. image-turbo: each 256 to 1536, default 1024*1024', [
        '1024*1024',
      ]),
      steps: described('integer', 'For models that take steps'),
      prompt: described('string', 'What to draw'),
      enable_base64_output: described(
        'boolean',
        'BASE64 text instead of a URL; a file over 32 MB comes as a URL all the same',
      ),
      model_name: described('string', 'Must be the model of the path, if sent'),
      extra: z.unknown().optional().meta(EXTRA_DESCRIPTION),
    })
    .meta({ description: BY_MODEL, required: ['prompt'] }),
);

export const IMAGE_MODEL = z.object({
  model: z.string().min(1).max(200).meta({ description: 'Id of an image model' }),
});

export const SUBMIT_RESPONSE = z
  .object({
    task_id: z.string().meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
  })
  .meta({ id: 'TaskHandle' });

/** Query of GET /v3/async/task-result. Text that is not a task id is answered as not found. */
export const TASK_RESULT_QUERY = z.strictObject({
  task_id: z
    .string({ message: 'is required' })
    .trim()
    .min(1, 'must not be blank')
    .max(200)
    .meta({ description: 'Id of the task, gen-…' }),
});

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) {
    count += 1;
  }
  return count;
}
