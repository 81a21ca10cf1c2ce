/** Time a balancer gets to notice that `/readyz` says no, before connections are refused. Not waited for on a desktop. */
export const BALANCER_NOTICE_MS = 5_000;
/** Ms to end calls at what was metered and to close everything, beside the time to drain. */
const CLOSE_MS = 10_000;

/** Ms that a process of the API gets to end after it was asked to; `drainMs` of them for its calls. */
export function leaveMs(drainMs: number): number {
  return drainMs + BALANCER_NOTICE_MS + CLOSE_MS;
}
