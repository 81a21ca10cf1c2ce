import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SIZE_MULTIPLE = 16;

/** An entry of `engines:` of kind `sdcpp`: sd-server of stable-diffusion.cpp. */
export const sdCppSettings = z.strictObject({
  ...upstreamFields,
  kinds: kindsField.describe('what it can make'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to it, and cropped afterwards'),
  seed_max: seedMaxField.default(Number.MAX_SAFE_INTEGER).describe('larger seeds become their remainder'),
  negative_prompt: z
    .string()
    .max(4_000)
    .optional()
    .describe("sent with every order; left out: the server's, by its command line"),
  video_frames: z
    .int()
    .min(1)
    .max(2_000)
    .optional()
    .describe("rounded by the server to 4n + 1; left out: the server's, or 81 where it has none"),
  fps: z
    .int()
    .min(1)
    .max(120)
    .optional()
    .describe(
      "frames per second; an order with `seconds` has that many times this; left out: the server's, or 16",
    ),
  video_format: z
    .enum(['webm', 'avi'])
    .optional()
    .describe('of the file that it makes; left out: webm where the server can, else avi'),
  sample_params: extraField.describe(
    'members of `sample_params` (sample_method, scheduler, flow_shift, guidance, …); steps come from the task',
  ),
  extra: extraField.describe('members added to every request body as they are'),
});

export type SdCppSettings = z.output<typeof sdCppSettings>;
