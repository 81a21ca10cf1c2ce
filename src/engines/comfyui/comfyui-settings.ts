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
  prompt: places,
  seed: places.optional(),
  width: places.optional(),
  height: places.optional(),
  steps: places.optional(),
  seconds: places.optional(),
  /** The length in frames: the order's seconds times the workflow's `fps`. */
  frames: places.optional(),
});

const workflow = z
  .strictObject({
    kind: z.enum(['image', 'video']),
    /** The workflow as "Export (API)" saves it; relative to the folder of tollgate.yaml. */
    file: z.string().min(1),
    parameters,
    fps: z.int().min(1).max(120).optional(),
    /** The node whose files are the result; every node's unless said. */
    output_node: z.string().min(1).max(64).optional(),
  })
  .refine(({ parameters: { frames }, fps }) => frames === undefined || fps !== undefined, {
    path: ['fps'],
    message: 'is needed for parameters.frames',
  });

/** An entry of `engines:` of kind `comfyui`. */
export const comfyUiSettings = z.strictObject({
  ...upstreamFields,
  size_multiple: sizeMultipleField.default(SIZE_MULTIPLE),
  seed_max: seedMaxField.default(Number.MAX_SAFE_INTEGER),
  /** By the model name that routes use. */
  workflows: z.record(z.string().min(1), workflow).refine((all) => Object.keys(all).length > 0, 'is empty'),
});

export type ComfyUiSettings = z.output<typeof comfyUiSettings>;
export type WorkflowSettings = z.output<typeof workflow>;
export type WorkflowParameters = z.output<typeof parameters>;
