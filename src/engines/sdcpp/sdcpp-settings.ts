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
  kinds: kindsField,
  size_multiple: sizeMultipleField.default(SIZE_MULTIPLE),
  seed_max: seedMaxField.default(Number.MAX_SAFE_INTEGER),
  negative_prompt: z.string().max(4_000).default(''),
  /** Rounded by the server to 4n + 1. */
  video_frames: z.int().min(1).max(2_000).default(VIDEO_FRAMES),
  fps: z.int().min(1).max(120).default(FRAMES_PER_SECOND),
  video_format: z.enum(['webm', 'avi']).default('webm'),
  /** Members of `sample_params` (sample_method, scheduler, flow_shift, guidance, …); steps come from the task. */
  sample_params: extraField,
  extra: extraField,
});

export type SdCppSettings = z.output<typeof sdCppSettings>;
