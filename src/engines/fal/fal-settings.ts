import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SEED_MAX = 4_294_967_295;
const SIZE_MULTIPLE = 16;

const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must be the name of a member, or none');

/** An entry of `engines:` of kind `fal`: the queue of fal.ai. */
export const falSettings = z.strictObject({
  ...upstreamFields,
  base_url: upstreamFields.base_url.default('https://queue.fal.run').describe('of the queue'),
  api_key: z.string().min(1, 'must not be empty').describe('sent as `Authorization: Key`'),
  kinds: kindsField.describe('what it can make'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to it, and cropped afterwards'),
  seed_max: seedMaxField.default(SEED_MAX).describe('larger seeds become their remainder'),
  size_field: z
    .enum(['image_size', 'width_height', 'none'])
    .default('image_size')
    .describe('`image_size: {width, height}`, or `width` and `height`, or nothing (say it in `extra` then)'),
  steps_field: field.default('num_inference_steps').describe('member for the steps; `none` leaves it out'),
  seconds_field: field.default('duration').describe('member for the length; `none` leaves it out'),
  seed_field: field.default('seed').describe('member for the seed; `none` leaves it out'),
  extra: extraField.describe('members added to every request body as they are'),
});

export type FalSettings = z.output<typeof falSettings>;
