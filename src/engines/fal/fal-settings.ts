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
  base_url: upstreamFields.base_url.default('https://queue.fal.run'),
  api_key: z.string().min(1, 'must not be empty'),
  kinds: kindsField,
  size_multiple: sizeMultipleField.default(SIZE_MULTIPLE),
  seed_max: seedMaxField.default(SEED_MAX),
  /** `image_size: {width, height}`, or `width` and `height`, or nothing (say it in `extra` then, e.g. `aspect_ratio`). */
  size_field: z.enum(['image_size', 'width_height', 'none']).default('image_size'),
  steps_field: field.default('num_inference_steps'),
  seconds_field: field.default('duration'),
  seed_field: field.default('seed'),
  extra: extraField,
});

export type FalSettings = z.output<typeof falSettings>;
