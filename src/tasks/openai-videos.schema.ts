import { z } from 'zod';
import { limitParameter } from '../http/answers/page.ts';
import { modelId } from '../http/input/wire-shapes.ts';

/** A whole number, either of a JSON body or as text of a form. */
const whole = z.union([
  z.int(),
  z
    .string()
    .regex(/^-?\d{1,10}$/, 'must be a whole number')
    .transform(Number),
]);

/** Body of POST /api/v1/videos: OpenAI's members that say what to film. */
export const openAiVideoRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A model with the endpoint `video`' }),
    prompt: z.string().min(1, 'must not be empty').meta({ description: 'What to film' }),
    size: z
      .string()
      .regex(/^\d{1,5}x\d{1,5}$/, 'must be widthxheight in pixels')
      .nullish()
      .meta({
        description:
          'widthxheight in pixels, one of the sizes that the model offers. video-fast: 1280x720 (the default) or 720x1280',
      }),
    seconds: whole
      .nullish()
      .meta({ description: 'Length in seconds, for models that offer lengths; others ignore it' }),
    steps: whole
      .nullish()
      .meta({ description: 'For models that take steps; their own default or 20 if omitted' }),
    seed: whole.nullish().meta({ description: 'The same seed makes the same video' }),
    input_reference: z
      .undefined({ error: 'must be omitted: videos are made from text only' })
      .optional()
      .meta({ description: 'Not supported: omit it' }),
  })
  .meta({ id: 'VideoRequest' });

/** A video in the form that OpenAI's clients know. */
export const openAiVideo = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id; also the id of the task' }),
    object: z.literal('video').meta({ description: 'Always video' }),
    model: modelId,
    status: z
      .enum(['queued', 'in_progress', 'completed', 'failed'])
      .meta({ description: 'completed and failed are final; a canceled task is failed' }),
    progress: z.int().min(0).max(100).meta({ description: 'Percent; 100 only when it is completed' }),
    created_at: z.int().meta({ description: 'Unix seconds' }),
    completed_at: z.int().nullable().meta({ description: 'Unix seconds; null until it ended' }),
    expires_at: z
      .int()
      .nullable()
      .meta({ description: 'Unix seconds at which its files are deleted; null until it is completed' }),
    size: z.string().nullable().meta({
      description: 'widthxheight in pixels, as ordered until it is made; null once its order is deleted',
    }),
    seconds: z.string().nullable().meta({
      description: 'Length in seconds, as ordered until it is made; null until then if none was ordered',
    }),
    error: z
      .looseObject({
        code: z.string().meta({ description: 'Stable, for programs; docs/reference/tasks.md lists them' }),
        message: z.string().meta({ description: 'For people; may change' }),
      })
      .nullable()
      .meta({ description: 'Why it failed; null unless it did' }),
    usage: z
      .object({ cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }) })
      .nullable()
      .meta({ description: 'Null until it is charged' }),
  })
  .meta({ id: 'Video' });
export type OpenAiVideoJson = z.output<typeof openAiVideo>;

/** Query of GET /api/v1/videos. */
export const openAiVideoListQuery = z.strictObject({
  limit: limitParameter
    .default(20)
    .meta({ type: 'integer', minimum: 1, maximum: 1_000, description: 'Videos per page' }),
  after: z.string().min(1).max(200).optional().meta({
    description: 'Only videos that were ordered before this one: the `last_id` of the previous page',
  }),
  order: z
    .literal('desc', { error: 'must be desc: videos are listed newest first' })
    .optional()
    .meta({ description: 'Newest first; there is no other order' }),
});

export const openAiVideoList = z
  .looseObject({
    object: z.literal('list').meta({ description: 'Always list' }),
    data: z.array(openAiVideo).meta({ description: 'Videos, newest first' }),
    first_id: z
      .string()
      .nullable()
      .meta({ description: 'Id of the first video of the page; null if there is none' }),
    last_id: z
      .string()
      .nullable()
      .meta({ description: 'Id of the last video of the page; null if there is none' }),
    has_more: z.boolean().meta({ description: 'Whether a page follows' }),
  })
  .meta({ id: 'VideoList' });

export const openAiVideoDeleted = z
  .object({
    id: z.string().meta({ description: 'Id of the video' }),
    object: z.literal('video.deleted').meta({ description: 'Always video.deleted' }),
    deleted: z.literal(true).meta({ description: 'Its files are gone; the generation and its charge stay' }),
  })
  .meta({ id: 'VideoDeleted' });

/** Query of GET /api/v1/videos/{id}/content. */
export const openAiVideoContentQuery = z.strictObject({
  variant: z
    .enum(['video', 'thumbnail'])
    .default('video')
    .meta({ description: 'The file itself, or its thumbnail' }),
});
