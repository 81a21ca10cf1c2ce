import { EngineError, type EngineRequest } from '../engine.types.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import type { OpenAiSettings } from './openai-settings.ts';

const EXTRA_ARGS_TAG = /<\s*\/?\s*sd_cpp_extra_args\s*>/gi;

type Size = Pick<EngineRequest, 'width' | 'height'>;

type BodyShape = Pick<
  OpenAiSettings,
  | 'size_field'
  | 'size_multiple'
  | 'sizes'
  | 'seed_field'
  | 'seed_max'
  | 'steps_field'
  | 'seconds_field'
  | 'extra'
  | 'image_response'
>;

/** Builds the body of a generation request as JSON members. Throws EngineError `unsupported_size`. */
export function requestBody(request: EngineRequest, shape: BodyShape): Record<string, unknown> {
  const { model, prompt, seed, steps, seconds } = request;
  return {
    ...shape.extra,
    ...request.extra,
    ...(model === 'default' ? {} : { model }),
    prompt: scrubPrompt(prompt),
    ...(request.kind === 'image' ? imageMembers(shape) : {}),
    ...sizeMembers(request, shape),
    ...(shape.seed_field === 'none' ? {} : { [shape.seed_field]: fitSeed(seed, shape.seed_max) }),
    ...(shape.steps_field === 'none' || steps === undefined ? {} : { [shape.steps_field]: steps }),
    // OpenAI's Videos API expects a string.
    ...(shape.seconds_field === 'none' || seconds === undefined
      ? {}
      : { [shape.seconds_field]: String(seconds) }),
  };
}

function imageMembers({ image_response }: BodyShape): Record<string, unknown> {
  const format = { auto: {}, b64: { response_format: 'b64_json' }, url: { response_format: 'url' } };
  return { n: 1, ...format[image_response] };
}

function sizeMembers(request: EngineRequest, shape: BodyShape): Record<string, unknown> {
  const { width, height } = shape.sizes
    ? listedSize(request, shape.sizes)
    : fitSize(request, shape.size_multiple);
  switch (shape.size_field) {
    case 'size':
      return { size: `${width}x${height}` };
    case 'width_height':
      return { width, height };
    case 'none':
      return {};
  }
}

/** Returns the smallest of the sizes that is at least as wide and high; undefined if there is none. */
export function smallestCovering(
  { width, height }: Size,
  sizes: NonNullable<OpenAiSettings['sizes']>,
): Size | undefined {
  const covering = sizes.filter((size) => size.width >= width && size.height >= height);
  return covering.sort((one, other) => one.width * one.height - other.width * other.height)[0];
}

function listedSize({ width, height }: Size, sizes: NonNullable<OpenAiSettings['sizes']>): Size {
  const size = smallestCovering({ width, height }, sizes);
  if (!size) {
    const message = `the engine supports no size as large as ${width}x${height}`;
    throw new EngineError({ code: 'unsupported_size', message, retryable: false });
  }
  return size;
}

/**
 * Removes the tag with which sd-server reads generation parameters from a prompt (stable-diffusion.cpp examples/server/api.md,
 * `sd_cpp_extra_args`): a customer must not set steps or batch sizes that nobody pays for. The text inside the tag stays.
 */
export function scrubPrompt(prompt: string): string {
  let text = prompt;
  for (;;) {
    const cleaned = text.replace(EXTRA_ARGS_TAG, '');
    if (cleaned === text) {
      return text;
    }
    // Removing a tag may join the text around it into another one.
    text = cleaned;
  }
}
