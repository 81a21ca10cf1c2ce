/** Time a load balancer gets to notice that `/readyz` fails before connections are refused, in ms. Skipped outside production. */
export const BALANCER_NOTICE_MS = 5_000;
/** Time to settle unfinished calls at their metered usage and to close everything, after the drain, in ms. */
const CLOSE_MS = 10_000;

/** Returns how long an API process may take to shut down, in ms; `drainMs` of that is for its calls. */
export function shutdownMs(drainMs: number): number {
  return drainMs + BALANCER_NOTICE_MS + CLOSE_MS;
}
