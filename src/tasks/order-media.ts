import { FieldError, validate } from '../http/input/validate.ts';
import type { SubmitContext, SubmitTaskService } from './submit-task.service.ts';
import { imageOrder, videoOrder } from './tasks.schema.ts';

/** The members that name the model; that model's schema validates the rest. */
interface OrderBody {
  readonly model_name?: unknown;
}

/** Prefix of the paths at which images are ordered; each model has its own. */
export const IMAGE_PATH = '/v3/async/';
/** Path at which every video model is ordered: `model_name` says which. */
export const VIDEO_PATH = '/v3/async/video-fast';

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
  const order = validate(imageOrder(model.options), body, 'body');
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
  const { prompt, width, height, steps, seconds, seed, extra } = validate(
    videoOrder(model.options),
    body,
    'body',
  );
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
