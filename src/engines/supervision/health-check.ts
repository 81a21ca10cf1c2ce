import { request } from 'undici';

const TIMEOUT_MS = 5_000;
const BODY_BYTES_MAX = 65_536;
/** The response may contain an image. */
const WARMUP_BYTES_MAX = 64 * 1024 * 1024;

/** Returns whether the URL responds to a POST of this JSON with 2xx in time. */
export async function isWarm(
  url: string,
  body: unknown,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      // It responds only after the model has been loaded and has finished the request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    await answer.body.dump({ limit: WARMUP_BYTES_MAX });
    return answer.statusCode >= 200 && answer.statusCode < 300;
  } catch {
    return false;
  }
}

/** Returns whether the URL responds with 2xx within five seconds. */
export async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await request(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    await answer.body.dump({ limit: BODY_BYTES_MAX });
    return answer.statusCode >= 200 && answer.statusCode < 300;
  } catch {
    return false;
  }
}
