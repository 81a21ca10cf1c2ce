import type { z } from 'zod';
import { areListed, type MediaOptions, offersSize, sizeText } from '../catalog/media-options.ts';
import { FieldError, validate } from '../http/input/validate.ts';
import type { openAiVideoRequest } from './openai-videos.schema.ts';
import type { SubmitContext, SubmitTaskService } from './submit-task.service.ts';
import { imageOrder, sizeRule, videoOrder } from './tasks.schema.ts';

/** The members that name the model; that model's schema validates the rest. */
interface OrderBody {
  readonly [member: string]: unknown;
  readonly model_name?: unknown;
}

/** Prefix of the paths at which images are ordered; each model has its own. */
export const IMAGE_PATH = '/v3/async/';
/** Path at which every video model is ordered: `model_name` says which. */
export const VIDEO_PATH = '/v3/async/video-fast';

/** For models that need a number of steps and have no default. */
const STEPS_DEFAULT = 20;
const SIZE_DEFAULT = { width: 1_280, height: 720 };
/** Members by which other services take pictures and films to start from. */
const INPUT =
  /^(?:(?:init|input|reference|first_frame|last_frame|start|end|last|tail|mask|control)_)?(?:image|video)s?(?:_urls?|_base64|_files?)?$|^mask$|^input_reference$/;
/** Members by which other services take the number of outputs. */
const COUNT = /^(?:n|image_num|num_images|num_outputs|num_videos|batch_size)$/;

/** Throws FieldError for members that ask for something else than one output made from text: it would be paid for and not be made. */
export function requireOneFromText(body: object): void {
  for (const [name, value] of Object.entries(body)) {
    const isEmpty =
      value === null || value === false || value === '' || (Array.isArray(value) && !value.length);
    if (!isEmpty && INPUT.test(name)) {
      throw new FieldError(name, 'must be omitted: images and videos are made from text only');
    }
    if (!isEmpty && COUNT.test(name) && Number(value) !== 1) {
      throw new FieldError(name, 'must be 1: an order makes one output');
    }
  }
}

/** Throws FieldError for a size or length that the order has under another name and that will not be made. */
function requireSaidAs(
  name: string,
  others: Readonly<Record<string, unknown>>,
  made: Record<string, string>,
) {
  for (const [other, will] of Object.entries(made)) {
    const value = others[other];
    if (value !== undefined && value !== null && String(value).replace('x', '*') !== will) {
      throw new FieldError(other, `is not read here: use ${name}`);
    }
  }
}

/**
 * Orders an image from the model `name`. `path` is the path of the request, unless it is the model's own. Returns the task's id
 * (UUID). Throws FieldError for what the model does not offer, and what SubmitTaskService throws.
 */
export async function orderImage(
  submits: SubmitTaskService,
  name: string,
  body: OrderBody,
  context: SubmitContext,
  path?: string,
): Promise<string> {
  const model = submits.model(name, 'image', context.principal);
  context.note?.({ model: model.id });
  const { model_name: named = name } = body;
  if (named !== name && named !== model.id) {
    throw new FieldError('model_name', `this path orders from "${name}"; use the other model's own path`);
  }
  requireOneFromText(body);
  const order = validate(imageOrder(model.options), body, 'body');
  const made = { width: String(order.size.width), height: String(order.size.height) };
  requireSaidAs('size, e.g. "512*512"', body, body.size === undefined ? made : {});
  const { prompt, size, steps, seed, enable_base64_output: base64Output, extra } = order;
  const webhookUrl = extra?.webhook?.url ?? null;
  const endpoint = path ?? `${IMAGE_PATH}${model.id}`;
  return await submits.submit(
    { endpoint, model, prompt, ...size, steps, seconds: undefined, seed, base64Output, webhookUrl },
    context,
  );
}

/**
 * Orders a video from the model that `model_name` names. Returns the task's id (UUID). Throws FieldError for what the model does not offer,
 * and what SubmitTaskService throws.
 */
export async function orderVideo(
  submits: SubmitTaskService,
  body: OrderBody & { readonly model_name: string },
  context: SubmitContext,
  endpoint = VIDEO_PATH,
): Promise<string> {
  const model = submits.model(body.model_name, 'video', context.principal);
  context.note?.({ model: model.id });
  requireOneFromText(body);
  const { prompt, width, height, steps, seconds, seed, extra } = validate(
    videoOrder(model.options),
    body,
    'body',
  );
  requireSaidAs('width and height', body, { size: sizeText({ width, height }) });
  requireSaidAs('seconds', body, seconds === undefined ? {} : { duration: String(seconds) });
  const webhookUrl = extra?.webhook?.url ?? null;
  return await submits.submit(
    {
      endpoint,
      model,
      prompt,
      width,
      height,
      steps,
      seconds,
      seed,
      base64Output: false,
      webhookUrl,
    },
    context,
  );
}

/**
 * Returns an order in OpenAI's form as `/v3/async/video-fast` takes it, with defaults for what OpenAI's callers leave to the service. Throws
 * FieldError.
 */
export function openAiVideoOrder(body: z.output<typeof openAiVideoRequest>, options: MediaOptions) {
  requireOneFromText(body);
  const { model, prompt, size, seed, steps, seconds } = body;
  const [width, height] = size?.split('x').map(Number) ?? [];
  if (width !== undefined && height !== undefined && !offersSize(options, { width, height })) {
    throw new FieldError('size', sizeRule(options.sizes, 'x'));
  }
  const first = areListed(options.sizes) ? options.sizes[0] : undefined;
  const named = width === undefined ? (options.defaultSize ?? first ?? SIZE_DEFAULT) : { width, height };
  const least = options.steps && options.steps.default === undefined ? STEPS_DEFAULT : undefined;
  const told = steps ?? least;
  return {
    model_name: model,
    prompt,
    ...named,
    seed: seed ?? -1,
    ...(told !== undefined && { steps: told }),
    ...(options.seconds && seconds && { seconds }),
  };
}
