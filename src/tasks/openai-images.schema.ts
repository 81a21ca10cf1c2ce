import { z } from 'zod';
import { usageJson } from '../http/input/wire-shapes.ts';

/** Body of POST /api/v1/images/generations: OpenAI's, as far as it says what to draw. The rest is for the schema of the model. */
export const openAiImageRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A model with the endpoint `image`' }),
    prompt: z.string().min(1, 'must not be empty').meta({ description: 'What to draw' }),
    n: z
      .literal(1, { error: 'only one image per call is offered' })
      .nullish()
      .meta({ description: 'Images per call: 1' }),
    size: z
      .string()
      .regex(/^(?:auto|\d{1,5}x\d{1,5})$/, 'must be widthxheight in pixels, or auto')
      .nullish()
      .meta({ description: 'widthxheight in pixels, of those that the model offers; auto is its default' }),
    response_format: z
      .enum(['url', 'b64_json'])
      .nullish()
      .meta({ description: 'url (the default) is good for an hour' }),
    output_format: z
      .literal('png', { error: 'only png is offered' })
      .nullish()
      .meta({ description: 'File format: png' }),
    stream: z
      .literal(false, { error: 'images are not streamed here' })
      .nullish()
      .meta({ description: 'Only false: the image comes whole' }),
    seed: z.int().nullish().meta({ description: 'The same seed draws the same image' }),
    steps: z.int().nullish().meta({ description: 'Of models that take steps' }),
  })
  .meta({ id: 'ImageRequest' });

/** The picture, once it is drawn. */
export const openAiImageAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id; also the id of the task' }),
    created: z.int().meta({ description: 'Unix seconds' }),
    data: z
      .array(
        z.looseObject({
          url: z
            .string()
            .optional()
            .meta({ description: 'Media link, good for an hour; with response_format url' }),
          b64_json: z
            .string()
            .optional()
            .meta({ description: 'The file in base64; with response_format b64_json' }),
        }),
      )
      .meta({ description: 'The image, as the one member of the list' }),
    usage: usageJson
      .extend({ cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }) })
      .meta({ id: 'ImageUsage' })
      .meta({ description: 'What the image cost; its tokens are all 0' }),
  })
  .meta({ id: 'ImageAnswer' });
