import { z } from 'zod';
import { keyField } from '../../upstream/connection-settings.ts';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SEED_MAX = 4_294_967_295;
const SIZE_MULTIPLE = 16;

const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must be a member name, or none');

/** An entry of `engines:` of kind `fal`, the queue of fal.ai. */
export const falSettings = z.strictObject({
  ...upstreamFields,
  base_url: upstreamFields.base_url.default('https://queue.fal.run').describe('address of the queue'),
  api_key: keyField.min(1, 'must not be empty').describe('sent as `Authorization: Key`'),
  kinds: kindsField.describe('what it can generate'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
  seed_max: seedMaxField
    .default(SEED_MAX)
    .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
  size_field: z
    .enum(['image_size', 'width_height', 'none'])
    .default('image_size')
    .describe(
      'how the size is sent: as `image_size: {width, height}`, as `width` and `height`, or not at all (set it in `extra` then)',
    ),
  steps_field: field
    .default('num_inference_steps')
    .describe('name of the member for the steps; `none` omits it'),
  seconds_field: field
    .default('duration')
    .describe('name of the member for the length in seconds; `none` omits it'),
  seed_field: field.default('seed').describe('name of the member for the seed; `none` omits it'),
  extra: extraField.describe('members added to every request body unchanged'),
});

export type FalSettings = z.output<typeof falSettings>;
