import { z } from 'zod';
import { EngineError, type EngineFailure, type EngineRequest } from '../engine.types.ts';
import { CONTENT_REFUSED, NO_OUTPUT, RUN_LOST, withWords } from '../engine-failures.ts';

const run = z.object({ status_url: z.url(), response_url: z.url(), cancel_url: z.url() });
const file = z.looseObject({ url: z.string().min(1) });
const outputs = z.looseObject({
  images: z.array(file).nullish(),
  image: file.nullish(),
  videos: z.array(file).nullish(),
  video: file.nullish(),
});
const flags = z.looseObject({ has_nsfw_concepts: z.array(z.boolean()) });
const errorBody = z.looseObject({
  detail: z.union([z.string(), z.array(z.looseObject({ type: z.string().nullish() }))]),
});

/** The URLs by which fal knows a run. They are used as given: built ones would break where a model has a longer name. */
export type FalRun = z.output<typeof run>;

/** Takes the URLs from a submit's answer; undefined when they are not there or lead away from `origin`. */
export function readRun(json: unknown, origin: string): FalRun | undefined {
  const parsed = run.safeParse(json);
  const urls = parsed.success ? Object.values(parsed.data) : [];
  return parsed.success && urls.every((url) => new URL(url).origin === origin) ? parsed.data : undefined;
}

/** The reference of a run: its URLs. */
export function toReference({ status_url, response_url, cancel_url }: FalRun): string {
  return JSON.stringify({ status_url, response_url, cancel_url });
}

/** The inverse of {@link toReference}. Throws EngineError `run_lost` for anything else. */
export function fromReference(reference: string, origin: string): FalRun {
  let json: unknown;
  try {
    json = JSON.parse(reference);
  } catch {
    json = undefined;
  }
  const found = readRun(json, origin);
  if (!found) {
    throw new EngineError(RUN_LOST);
  }
  return found;
}

/** The output's URL in a result; models differ in whether they name one or list several. Throws EngineError `no_output`. */
export function outputUrl(json: unknown, kind: EngineRequest['kind']): string {
  const { images, image, videos, video } = outputs.safeParse(json).data ?? {};
  const found = kind === 'image' ? (images?.[0] ?? image) : (video ?? videos?.[0]);
  if (!found) {
    throw new EngineError(NO_OUTPUT);
  }
  return found.url;
}

/** Whether a result says of its first picture that its content was refused: what it names then is black. */
export function isBlackedOut(json: unknown): boolean {
  return flags.safeParse(json).data?.has_nsfw_concepts[0] === true;
}

/** Whether the body of an error is the model's own (fal's `detail`), not that of something on the way. */
export function isModelError(json: unknown): boolean {
  return errorBody.safeParse(json).success;
}

/** The failure of an answer outside 2xx, told more precisely by the types in its `detail`. */
export function refineByDetail(failure: EngineFailure, json: unknown): EngineFailure {
  const { detail } = errorBody.safeParse(json).data ?? {};
  const types = Array.isArray(detail) ? detail.map(({ type }) => type ?? '') : [];
  return types.some((type) => /content_policy|safety|nsfw/.test(type))
    ? withWords(CONTENT_REFUSED, failure.said)
    : failure;
}
