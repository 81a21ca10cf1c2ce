import { z } from 'zod';
import { seedMaxField, sizeMultipleField, upstreamFields } from '../engine-settings.ts';

const SIZE_MULTIPLE = 16;

const place = z
  .string()
  .regex(/^[^.]{1,64}\.inputs(\.[^.]{1,64}){1,8}$/, 'must be like 6.inputs.text: node, inputs, name');
const places = z.union([place.transform((text) => [text]), z.array(place).min(1).max(32)], {
  error: 'must be like 6.inputs.text: node, inputs, name; or a list of such',
});

/** Where each parameter of a task is written in the workflow. */
const parameters = z.strictObject({
  prompt: places.describe('of the text'),
  seed: places.optional().describe('of the seed'),
  width: places.optional().describe('of the width'),
  height: places.optional().describe('of the height'),
  steps: places.optional().describe('of the number of steps'),
  seconds: places.optional().describe('of the length in seconds'),
  frames: places.optional().describe("the length in frames: the order's seconds times the workflow's `fps`"),
});

const workflow = z
  .strictObject({
    kind: z.enum(['image', 'video']).describe('what it makes'),
    file: z
      .string()
      .min(1)
      .describe('the workflow as "Export (API)" saves it; relative to the folder of tollgate.yaml'),
    parameters,
    fps: z.int().min(1).max(120).optional().describe('frames per second, for `frames`'),
    output_node: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe("the node whose files are the result; every node's unless said"),
  })
  .refine(({ parameters: { frames }, fps }) => frames === undefined || fps !== undefined, {
    path: ['fps'],
    message: 'is needed for parameters.frames',
  });

/** An entry of `engines:` of kind `comfyui`. */
export const comfyUiSettings = z.strictObject({
  ...upstreamFields,
  size_multiple: sizeMultipleField
    .default(SIZE_MULTIPLE)
    .describe('sizes are rounded up to it, and cropped afterwards'),
  seed_max: seedMaxField.default(Number.MAX_SAFE_INTEGER).describe('larger seeds become their remainder'),
  comfy_org_api_key: z
    .string()
    .default('')
    .describe(
      'key for partner nodes, which bill each run: with it no run is begun a second time whose end nobody knows',
    ),
  workflows: z
    .record(z.string().min(1), workflow)
    .refine((all) => Object.keys(all).length > 0, 'is empty')
    .describe('by the model name that routes use'),
});

export type ComfyUiSettings = z.output<typeof comfyUiSettings>;
export type WorkflowSettings = z.output<typeof workflow>;
export type WorkflowParameters = z.output<typeof parameters>;
