import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SIZE_MULTIPLE = 16;
const VIDEO_FRAMES = 81;
const FRAMES_PER_SECOND = 16;

/** An entry of `engines:` of kind `sdcpp`: sd-server of stable-diffusion.cpp. */
export const sdCppSettings = z.strictObject({
  ...upstreamFields,
  kinds: kindsField.describe('what it can make'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to it, and cropped afterwards'),
  seed_max: seedMaxField.default(Number.MAX_SAFE_INTEGER).describe('larger seeds become their remainder'),
  negative_prompt: z.string().max(4_000).default('').describe('sent with every order'),
  video_frames: z.int().min(1).max(2_000).default(VIDEO_FRAMES).describe('rounded by the server to 4n + 1'),
  fps: z
    .int()
    .min(1)
    .max(120)
    .default(FRAMES_PER_SECOND)
    .describe('frames per second; an order with `seconds` has that many times this'),
  video_format: z.enum(['webm', 'avi']).default('webm').describe('of the file that it makes'),
  sample_params: extraField.describe(
    'members of `sample_params` (sample_method, scheduler, flow_shift, guidance, …); steps come from the task',
  ),
  extra: extraField.describe('members added to every request body as they are'),
});

export type SdCppSettings = z.output<typeof sdCppSettings>;
