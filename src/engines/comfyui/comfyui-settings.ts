import { z } from 'zod';
import { seedMaxField, sizeMultipleField, upstreamFields } from '../engine-settings.ts';

const SIZE_MULTIPLE = 16;

const place = z
  .string()
  .regex(/^[^.]{1,64}\.inputs(\.[^.]{1,64}){1,8}$/, 'must be like 6.inputs.text: node, inputs, name');
const places = z.union([place.transform((text) => [text]), z.array(place).min(1).max(32)], {
  error: 'must be like 6.inputs.text: node, inputs, name; or a list of such paths',
});

/** The places in the workflow where each parameter of a task is written. */
const parameters = z.strictObject({
  prompt: places.describe('where to write the prompt'),
  seed: places.optional().describe('where to write the seed'),
  width: places.optional().describe('where to write the width'),
  height: places.optional().describe('where to write the height'),
  steps: places.optional().describe('where to write the number of steps'),
  seconds: places.optional().describe('where to write the length in seconds'),
  frames: places
    .optional()
    .describe("where to write the length in frames: the requested seconds times the workflow's `fps`"),
});

const workflow = z
  .strictObject({
    kind: z.enum(['image', 'video']).describe('what it generates'),
    file: z
      .string()
      .min(1)
      .describe('file with the workflow as saved by "Export (API)"; relative to the folder of tollgate.yaml'),
    parameters,
    fps: z.int().min(1).max(120).optional().describe('frames per second, for `frames`'),
    output_node: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('the node whose files are the result; by default those of every node'),
  })
  .refine(({ parameters: { frames }, fps }) => frames === undefined || fps !== undefined, {
    path: ['fps'],
    message: 'is required for parameters.frames',
  });

/** An entry of `engines:` of kind `comfyui`. */
export const comfyUiSettings = z.strictObject({
  ...upstreamFields,
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
  seed_max: seedMaxField
    .default(Number.MAX_SAFE_INTEGER)
    .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
  comfy_org_api_key: z
    .string()
    .default('')
    .describe(
      'key for partner nodes, which bill each run; with it, a run whose outcome is unknown is never started again',
    ),
  workflows: z
    .record(z.string().min(1), workflow)
    .refine((all) => Object.keys(all).length > 0, 'must not be empty')
    .describe('by the model name used in routes'),
});

export type ComfyUiSettings = z.output<typeof comfyUiSettings>;
export type WorkflowSettings = z.output<typeof workflow>;
export type WorkflowParameters = z.output<typeof parameters>;
