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
  kinds: kindsField,
  /** Whether the upstream bills every accepted request. */
  paid: z.boolean().default(false),
  size_multiple: sizeMultipleField.default(SIZE_MULTIPLE),
  /** The only sizes the upstream makes; the smallest that covers the request is asked for. */
  sizes: z.array(size).min(1).max(64).optional(),
  seed_max: seedMaxField.default(SEED_MAX),
  /** How POST /videos is encoded: vLLM-Omni takes multipart, SGLang JSON. */
  body_encoding: z.enum(['json', 'multipart']).default('json'),
  /** `size: "1024x1024"`, or `width` and `height`. */
  size_field: z.enum(['size', 'width_height', 'none']).default('size'),
  steps_field: field.default('num_inference_steps'),
  seconds_field: field.default('seconds'),
  seed_field: field.default('seed'),
  /** `auto` asks for nothing and takes what comes. */
  image_response: z.enum(['auto', 'b64', 'url']).default('auto'),
  /** How long one image may take, in ms: its answer begins when it is done. */
  image_timeout_ms: z.int().min(100).max(3_600_000).default(300_000),
  image_path: path.default('/images/generations'),
  submit_path: path.default('/videos'),
  poll_path: videoPath.default('/videos/{id}'),
  content_path: videoPath.default('/videos/{id}/content'),
  /** `delete`: DELETE on the poll path. */
  cancel_method: z.enum(['delete', 'none']).default('delete'),
  extra: extraField,
});

export type OpenAiSettings = z.output<typeof openAiSettings>;
