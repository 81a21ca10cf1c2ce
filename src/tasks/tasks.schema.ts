import { z } from 'zod';

const VIDEO_PROMPT_CODE_POINTS_MAX = 2_000;
const SIZE_PATTERN = /^(\d{1,5})\*(\d{1,5})$/;
const SIDE_MIN = 256;
const SIDE_MAX = 1_536;
const URL_LENGTH_MAX = 2_048;
export const VIDEO_SEED_MAX = 9_999_999_999;
export const IMAGE_SEED_MAX = 2_147_483_647;

const PROMPT = z
  .string()
  .min(1, 'must not be empty')
  .refine((text) => !/[\0\p{Surrogate}]/u.test(text), 'must be well-formed Unicode without NUL');

/** 1 to 2,000 Unicode code points: an emoji counts once, as it does for the person who typed it. */
const VIDEO_PROMPT = PROMPT.refine(
  (text) => codePoints(text) <= VIDEO_PROMPT_CODE_POINTS_MAX,
  `must have 1 to ${VIDEO_PROMPT_CODE_POINTS_MAX} characters (Unicode code points)`,
).meta({ minLength: 1, maxLength: VIDEO_PROMPT_CODE_POINTS_MAX });

const EXTRA = z
  .object({
    webhook: z
      .object({
        url: z.string().max(URL_LENGTH_MAX).refine(isHttpUrl, 'must be an http(s) URL without credentials'),
        test_mode: z
          .object({
            // Running and charging a task that the caller means as a test would be the worse answer.
            enabled: z.literal(false, { message: 'is not supported; leave it out' }).optional(),
          })
          .optional(),
      })
      .optional(),
  })
  .optional();

const VIDEO_SIDES = [720, 1_280];
const videoSide = z.int().refine((side) => VIDEO_SIDES.includes(side), 'must be 720 or 1280');

/** Body of POST /v3/async/video-fast. */
const VIDEO_ORDER = z
  .object({
    model_name: z.literal('video-fast', { message: 'must be video-fast' }),
    width: videoSide.meta({
      description: '720 when height is 1280, 1280 when height is 720',
      enum: VIDEO_SIDES,
    }),
    height: videoSide.meta({
      description: '720 when width is 1280, 1280 when width is 720',
      enum: VIDEO_SIDES,
    }),
    seed: z.int().min(-1).max(VIDEO_SEED_MAX),
    steps: z.int().min(2).max(30),
    prompt: VIDEO_PROMPT,
    extra: EXTRA,
  })
  .refine((body) => body.width !== body.height, {
    path: ['height'],
    message: 'must be 720 when width is 1280, and 1280 when width is 720',
  });

/** Body of POST /v3/async/image-turbo. */
const IMAGE_ORDER = z
  .object({
    seed: z.int().min(-1).max(IMAGE_SEED_MAX).default(-1),
    size: z
      .string()
      .default('1024*1024')
      .refine(
        (text) => parseSize(text) !== undefined,
        `must be width*height, each ${SIDE_MIN} to ${SIDE_MAX} pixels`,
      )
      .transform((text) => parseSize(text) ?? { width: 0, height: 0 })
      .meta({
        description: `width*height, each ${SIDE_MIN} to ${SIDE_MAX} pixels`,
        pattern: '^\\d{3,4}\\*\\d{3,4}$',
      }),
    prompt: PROMPT,
    enable_base64_output: z.boolean().default(false),
    extra: EXTRA,
  })
  .refine((body) => !(body.enable_base64_output && body.extra?.webhook), {
    path: ['enable_base64_output'],
    message: 'cannot be combined with extra.webhook: the event carries URLs',
  });

/** An order as it is, or wrapped as Novita's SDKs send theirs: `{ request: { … }, extra: { … } }`. */
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

export const VIDEO_SUBMIT = wrappedOrPlain(VIDEO_ORDER);
export const IMAGE_SUBMIT = wrappedOrPlain(IMAGE_ORDER);

/** Query of GET /v3/async/task-result. Any other text than an id of ours is simply not found. */
export const TASK_RESULT_QUERY = z.strictObject({
  task_id: z.string({ message: 'is required' }).trim().min(1, 'must not be blank').max(200),
});

export const SUBMIT_RESPONSE = z.object({ task_id: z.string() }).meta({ id: 'TaskHandle' });

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) {
    count += 1;
  }
  return count;
}

function parseSize(text: string): { width: number; height: number } | undefined {
  const match = SIZE_PATTERN.exec(text);
  const width = Number(match?.[1]);
  const height = Number(match?.[2]);
  const fits = (side: number): boolean => side >= SIDE_MIN && side <= SIDE_MAX;
  return fits(width) && fits(height) ? { width, height } : undefined;
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) {
    return false;
  }
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
