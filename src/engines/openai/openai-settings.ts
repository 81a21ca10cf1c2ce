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

/** A member of the request body, or `none` to leave it out. */
const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must be the name of a member, or none');
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
  kinds: kindsField.describe('what it can make'),
  paid: z.boolean().default(false).describe('whether the upstream bills every accepted request'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to it, and cropped afterwards'),
  sizes: z
    .array(size)
    .min(1)
    .max(64)
    .optional()
    .describe('the only sizes the upstream makes; the smallest that covers the request is asked for'),
  seed_max: seedMaxField.default(SEED_MAX).describe('larger seeds become their remainder'),
  body_encoding: z
    .enum(['json', 'multipart'])
    .default('json')
    .describe('how POST /videos is encoded: vLLM-Omni takes multipart, SGLang JSON'),
  size_field: z
    .enum(['size', 'width_height', 'none'])
    .default('size')
    .describe('`size: "1024x1024"`, or `width` and `height`'),
  steps_field: field.default('num_inference_steps').describe('member for the steps; `none` leaves it out'),
  seconds_field: field.default('seconds').describe('member for the length; `none` leaves it out'),
  seed_field: field.default('seed').describe('member for the seed; `none` leaves it out'),
  image_response: z
    .enum(['auto', 'b64', 'url'])
    .default('auto')
    .describe('`auto` asks for nothing and takes what comes'),
  image_timeout_ms: z
    .int()
    .min(100)
    .max(3_600_000)
    .default(300_000)
    .describe('how long one image may take, in ms: its answer begins when it is done'),
  image_path: path.default('/images/generations').describe('of images'),
  submit_path: path.default('/videos').describe('of new videos'),
  poll_path: videoPath.default('/videos/{id}').describe('of one video'),
  content_path: videoPath.default('/videos/{id}/content').describe('of its file'),
  cancel_method: z.enum(['delete', 'none']).default('delete').describe('`delete`: DELETE on the poll path'),
  extra: extraField.describe('members added to every request body as they are'),
});

export type OpenAiSettings = z.output<typeof openAiSettings>;
