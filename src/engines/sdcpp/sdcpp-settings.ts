import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SIZE_MULTIPLE = 16;

/** An entry of `engines:` of kind `sdcpp`, the sd-server of stable-diffusion.cpp. */
export const sdCppSettings = z.strictObject({
  ...upstreamFields,
  kinds: kindsField.describe('what it can generate'),
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
  seed_max: seedMaxField
    .default(Number.MAX_SAFE_INTEGER)
    .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
  negative_prompt: z
    .string()
    .max(4_000)
    .optional()
    .describe("sent with every request; by default the one from the server's command line"),
  video_frames: z
    .int()
    .min(1)
    .max(2_000)
    .optional()
    .describe(
      "length of a video, which the server rounds to 4n + 1; by default the server's setting, or 81 if it has none",
    ),
  fps: z
    .int()
    .min(1)
    .max(120)
    .optional()
    .describe(
      "frames per second; a request with `seconds` gets that many seconds at this rate; by default the server's setting, or 16",
    ),
  video_format: z
    .enum(['webm', 'avi'])
    .optional()
    .describe('format of the video file; by default webm if the server supports it, else avi'),
  sample_params: extraField.describe(
    'members of `sample_params` (sample_method, scheduler, flow_shift, guidance, …); steps come from the task',
  ),
  extra: extraField.describe('members added to every request body unchanged'),
});

export type SdCppSettings = z.output<typeof sdCppSettings>;
