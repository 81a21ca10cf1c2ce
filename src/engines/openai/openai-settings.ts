import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SEED_MAX = 2_147_483_647;
const SIZE_MULTIPLE = 16;

/** The name of a member of the request body, or `none` to omit it. */
const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must be a member name, or none');
const path = z.string().regex(/^\/[A-Za-z0-9._~/{}-]*$/, 'must be a path');
const videoPath = path.refine((text) => text.includes('{id}'), 'must contain {id}');
const size = z
  .string()
  .regex(/^\d{2,5}x\d{2,5}$/, 'must be like 1024x1024')
  .transform((text) => {
    const [width = 0, height = 0] = text.split('x').map(Number);
    return { width, height };
  });

/** An entry of `engines:` of kind `openai`: a server that speaks OpenAI's Images or Videos API. */
export const openAiSettings = z.strictObject({
  ...upstreamFields,
  kinds: kindsField.describe('what it can generate'),
  paid: z.boolean().default(false).describe('whether the upstream bills every accepted request'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
  sizes: z
    .array(size)
    .min(1)
    .max(64)
    .optional()
    .describe(
      'the only sizes that the upstream supports; the smallest that covers the requested size is used',
    ),
  seed_max: seedMaxField
    .default(SEED_MAX)
    .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
  body_encoding: z
    .enum(['json', 'multipart'])
    .default('json')
    .describe('how POST /videos is encoded: vLLM-Omni expects multipart, SGLang JSON'),
  size_field: z
    .enum(['size', 'width_height', 'none'])
    .default('size')
    .describe('how the size is sent: as `size: "1024x1024"`, as `width` and `height`, or not at all'),
  steps_field: field
    .default('num_inference_steps')
    .describe('name of the member for the steps; `none` omits it'),
  seconds_field: field
    .default('seconds')
    .describe('name of the member for the length in seconds; `none` omits it'),
  seed_field: field.default('seed').describe('name of the member for the seed; `none` omits it'),
  image_response: z
    .enum(['auto', 'b64', 'url'])
    .default('auto')
    .describe('how images are returned; `auto` requests no format and accepts both'),
  image_timeout_ms: z
    .int()
    .min(100)
    .max(3_600_000)
    .default(300_000)
    .describe('how long one image may take, in ms; the response begins only when the image is done'),
  image_path: path.default('/images/generations').describe('path for images'),
  submit_path: path.default('/videos').describe('path for new videos'),
  poll_path: videoPath.default('/videos/{id}').describe('path of one video'),
  content_path: videoPath.default('/videos/{id}/content').describe('path of its file'),
  cancel_method: z
    .enum(['delete', 'none'])
    .default('delete')
    .describe('`delete` sends DELETE to the poll path'),
  extra: extraField.describe('members added to every request body unchanged'),
});

export type OpenAiSettings = z.output<typeof openAiSettings>;
