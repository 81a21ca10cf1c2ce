import { z } from 'zod';
import { IGNORED_ANSWER_HEADER } from '../http/input/ignored-members.ts';
import { usageJson } from '../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { usdNumber } from '../lib/money.ts';
import { type ImageDependencies, OpenAiImagesService } from './openai-images.service.ts';
import { orderImage, requireOneFromText } from './order-media.ts';
import type { SubmitTaskService } from './submit-task.service.ts';
import { orderHeaders, SUBMIT } from './task-request.ts';
import type { TaskResult } from './task-results.service.ts';

/** Body of POST /api/v1/images/generations: OpenAI's members that say what to draw. The model's own schema validates the rest. */
const openAiImageRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A model with the endpoint `image`' }),
    prompt: z.string().min(1, 'must not be empty').meta({ description: 'What to draw' }),
    n: z
      .literal(1, { error: 'must be 1: only one image per call is supported' })
      .nullish()
      .meta({ description: 'Images per call: 1' }),
    size: z
      .string()
      .regex(/^(?:auto|\d{1,5}x\d{1,5})$/, 'must be widthxheight in pixels, or auto')
      .nullish()
      .meta({
        description: 'widthxheight in pixels, one of the sizes that the model offers; auto is its default',
      }),
    response_format: z
      .enum(['url', 'b64_json'])
      .nullish()
      .meta({ description: 'url, the default, is valid for an hour' }),
    output_format: z
      .literal('png', { error: 'must be png, the only supported format' })
      .nullish()
      .meta({ description: 'File format: png' }),
    stream: z
      .literal(false, { error: 'streaming is not supported for images' })
      .nullish()
      .meta({ description: 'Must be false: the image is sent whole' }),
    seed: z.int().nullish().meta({ description: 'The same seed makes the same image' }),
    steps: z.int().nullish().meta({ description: 'For models that take steps' }),
  })
  .meta({ id: 'ImageRequest' });

/** The finished image. */
const openAiImageAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id; also the id of the task' }),
    created: z.int().meta({ description: 'Unix seconds' }),
    data: z
      .array(
        z.looseObject({
          url: z.string().optional().meta({
            description: 'Media link, valid for an hour; with response_format url, or for a file over 32 MB',
          }),
          b64_json: z
            .string()
            .optional()
            .meta({ description: 'The file in base64; with response_format b64_json' }),
        }),
      )
      .meta({ description: 'The image, the only element of the list' }),
    usage: usageJson
      .extend({ cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }) })
      .meta({ id: 'ImageUsage' })
      .meta({ description: 'The cost of the image; all token counts are 0' }),
  })
  .meta({ id: 'ImageAnswer' });

const PATH = '/api/v1/images/generations';
/** Prompts have no limit of their own. */
const BODY_BYTES_MAX = 1024 * 1024;
const SAID = ['model', 'prompt', 'n', 'size', 'response_format', 'output_format', 'stream', 'seed', 'steps'];

/** OpenAI's image generation: orders a task and answers when it has ended. */
export function openAiImageRoutes(submits: SubmitTaskService, waiting: ImageDependencies): Route[] {
  const images = new OpenAiImagesService(waiting);
  return [
    defineRoute({
      ...SUBMIT,
      method: 'post',
      path: PATH,
      operationId: 'createImage',
      summary: 'Generate an image from text and wait for it (OpenAI images)',
      description: `The call is a task like those of \`/v3/async/…\`, priced and charged the same way, and answered when the task has ended,
after nine minutes at most. If the caller disconnects, the task is canceled, unless the call has an Idempotency-Key: then it is
carried out, and a retry gets its result. Members that only tune the image (\`quality\`, \`style\`, \`background\`, …) are not
supported; they are ignored and named in X-Ignored-Parameters.`,
      tag: 'Async',
      access: 'inference',
      envelope: 'bare',
      body: openAiImageRequest,
      bodyBytesMax: BODY_BYTES_MAX,
      response: { status: 200, schema: openAiImageAnswer, headers: IGNORED_ANSWER_HEADER },
      errors: [
        ...SUBMIT.errors,
        'payload_too_large',
        'task_not_finished',
        'provider_error',
        'provider_timeout',
      ],
      async handle({ body, ...caller }) {
        requireOneFromText(body);
        const order = () => orderImage(submits, body.model, orderOf(body), caller, PATH);
        const result = await images.draw(order, caller);
        return result && { headers: orderHeaders(result.task.id, body, SAID), body: presentImage(result) };
      },
    }),
  ];
}

/** Returns the same order as the image model's own path takes. */
function orderOf({
  prompt,
  size,
  seed,
  steps,
  response_format,
}: z.output<typeof openAiImageRequest>): Record<string, unknown> {
  return {
    prompt,
    ...(size && size !== 'auto' && { size: size.replace('x', '*') }),
    ...(seed !== null && seed !== undefined && { seed }),
    ...(steps && { steps }),
    enable_base64_output: response_format === 'b64_json',
  };
}

function presentImage({ task, media }: TaskResult) {
  const counts = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const cached = { cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 };
  return {
    id: publicId('generation', task.id),
    created: Math.floor((task.completedAt ?? task.createdAt).getTime() / 1000),
    data: media.map(({ content, ttlSeconds }) =>
      ttlSeconds === 0 ? { b64_json: content } : { url: content },
    ),
    usage: { ...counts, ...cached, cost: usdNumber(task.charge) },
  };
}
