import { request } from 'undici';

const TIMEOUT_MS = 5_000;
const BODY_BYTES_MAX = 65_536;

/** Whether the URL answers 2xx within five seconds. */
export async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await request(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    await answer.body.dump({ limit: BODY_BYTES_MAX });
    return answer.statusCode >= 200 && answer.statusCode < 300;
  } catch {
    return false;
  }
}
