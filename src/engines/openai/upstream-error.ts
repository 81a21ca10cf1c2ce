import { z } from 'zod';
import type { EngineFailure } from '../engine.types.ts';
import {
  CONTENT_REFUSED,
  MISCONFIGURED,
  OUT_OF_MEMORY,
  UPSTREAM_ERROR,
  withUpstreamMessage,
} from '../engine-failures.ts';

const errorObject = z.object({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  message: z.string().nullish(),
});
/** In the words of xAI, which sends its message where others send an object. */
const MODERATED = /content.?moderat/i;
const errorBody = z.union([
  z.object({ error: errorObject }),
  z.object({ error: z.string(), code: z.string().nullish() }).transform(({ error: message, code }) => {
    const type = MODERATED.test(`${code} ${message}`) ? 'moderation' : null;
    return { error: { code, type, message } };
  }),
]);

/** The account has no quota left: waiting does not help, and only the operator can fix it. */
const NO_QUOTA = /insufficient_quota|billing_hard_limit/;
const REFUSED = /content_?(policy|filter)|moderation|safety/;

/** Returns the failure for an error object in OpenAI's format, with its message for operators. Undefined when it means nothing special. */
export function failureOfErrorObject(error: unknown): EngineFailure | undefined {
  const parsed = errorObject.safeParse(error);
  if (!parsed.success) {
    return undefined;
  }
  const { code, type, message } = parsed.data;
  const names = `${code} ${type}`.toLowerCase();
  if (NO_QUOTA.test(names)) {
    return withUpstreamMessage(MISCONFIGURED, message);
  }
  if (REFUSED.test(names)) {
    return withUpstreamMessage(CONTENT_REFUSED, message);
  }
  return /out of memory/i.test(message ?? '') ? withUpstreamMessage(OUT_OF_MEMORY, message) : undefined;
}

/** Refines the failure of a response outside 2xx by its body `{error: {code, type, message}}`. */
export function refineByBody(failure: EngineFailure, body: unknown): EngineFailure {
  const parsed = errorBody.safeParse(body);
  const refined = parsed.success ? failureOfErrorObject(parsed.data.error) : undefined;
  return refined ? withUpstreamMessage(refined, failure.said ?? refined.said) : failure;
}

/** Returns the failure of a video whose status is `failed`. */
export function failureOfVideo(error: unknown): EngineFailure {
  return (
    failureOfErrorObject(error) ??
    withUpstreamMessage(UPSTREAM_ERROR, errorObject.safeParse(error).data?.message)
  );
}
