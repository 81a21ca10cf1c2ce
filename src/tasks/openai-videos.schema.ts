import { z } from 'zod';

/** A whole number of a JSON body, or as forms say it. */
const whole = z.union([
  z.int(),
  z
    .string()
    .regex(/^-?\d{1,10}$/, 'must be a whole number')
    .transform(Number),
]);

/** Body of POST /api/v1/videos: OpenAI's, as far as it says what to film. */
export const openAiVideoRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A model with the endpoint `video`' }),
    prompt: z.string().min(1, 'must not be empty'),
    size: z
      .string()
      .regex(/^\d{1,5}x\d{1,5}$/, 'must be widthxheight in pixels')
      .nullish()
      .meta({
        description:
          'widthxheight, of those that the model offers. video-fast: 1280x720 (the default) or 720x1280',
      }),
    seconds: whole
      .nullish()
      .meta({ description: 'Length, of models that offer lengths; left out by others' }),
    steps: whole.nullish().meta({ description: 'Of models that take steps; by default their own, or 20' }),
    seed: whole.nullish().meta({ description: 'The same seed films the same video' }),
    input_reference: z.undefined({ error: 'videos are made from text alone here' }).optional(),
  })
  .meta({ id: 'VideoRequest' });

/** A video as OpenAI's clients know it. */
export const openAiVideo = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id; also the id of the task' }),
    object: z.literal('video'),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z.int().min(0).max(100),
    created_at: z.int().meta({ description: 'Unix seconds' }),
    completed_at: z.int().nullable(),
    expires_at: z.int().nullable().meta({ description: 'When its file goes' }),
    size: z.string().nullable().meta({ description: 'Known once it is made' }),
    seconds: z.string().nullable().meta({ description: 'Known once it is made; the model decides' }),
    error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    usage: z
      .object({ cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }) })
      .nullable()
      .meta({ description: 'Null until it is charged' }),
  })
  .meta({ id: 'Video' });
export type OpenAiVideoJson = z.output<typeof openAiVideo>;

export const openAiVideoDeleted = z
  .object({ id: z.string(), object: z.literal('video.deleted'), deleted: z.literal(true) })
  .meta({ id: 'VideoDeleted' });

/** Query of the content. */
export const openAiVideoContentQuery = z.strictObject({
  variant: z.enum(['video', 'thumbnail']).default('video'),
});
