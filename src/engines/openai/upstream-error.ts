import { z } from 'zod';
import type { EngineFailure } from '../engine.types.ts';
import { CONTENT_REFUSED, OUT_OF_MEMORY, UPSTREAM_ERROR } from '../engine-failures.ts';

const errorObject = z.object({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  message: z.string().nullish(),
});
const errorBody = z.object({ error: errorObject });

const REFUSED = /content_?(policy|filter)|moderation|safety/;

/** What an error object of OpenAI's shape stands for; its text is looked at and goes nowhere. Undefined when it says nothing special. */
export function failureOfErrorObject(error: unknown): EngineFailure | undefined {
  const parsed = errorObject.safeParse(error);
  if (!parsed.success) {
    return undefined;
  }
  const { code, type, message } = parsed.data;
  if (REFUSED.test(`${code} ${type}`.toLowerCase())) {
    return CONTENT_REFUSED;
  }
  return /out of memory/i.test(message ?? '') ? OUT_OF_MEMORY : undefined;
}

/** The failure of an answer outside 2xx, told more precisely by its body `{error: {code, type, message}}`. */
export function refineByBody(failure: EngineFailure, body: unknown): EngineFailure {
  const parsed = errorBody.safeParse(body);
  return (parsed.success ? failureOfErrorObject(parsed.data.error) : undefined) ?? failure;
}

/** The failure of a video whose status is `failed`. */
export function failureOfVideo(error: unknown): EngineFailure {
  return failureOfErrorObject(error) ?? UPSTREAM_ERROR;
}
