const WAIT_SECONDS_MAX = 30;

/** The description of the header for routes that honor it. */
export const PREFER_WAIT = 'wait=N waits up to N (at most 30) seconds for the end of the task';

/** Returns the ms for which `Prefer: wait=N` (RFC 7240) asks to hold the answer back, at most 30 s; 0 without it. */
export function preferredWaitMs(header: string | string[] | undefined): number {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const match = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=$|[,;])/i.exec(text.slice(0, 1_000));
  return Math.min(Number(match?.[1] ?? 0), WAIT_SECONDS_MAX) * 1_000;
}

/** The response header that says how long the answer was held back, and its description. */
export const PREFERENCE_APPLIED: Readonly<Record<string, string>> = {
  'Preference-Applied': 'wait=N: the answer was held for up to N seconds',
};

/** Returns that header for a wait in ms; none for 0. */
export function preferenceApplied(waitMs: number): Record<string, string> {
  return waitMs > 0 ? { 'Preference-Applied': `wait=${waitMs / 1_000}` } : {};
}
