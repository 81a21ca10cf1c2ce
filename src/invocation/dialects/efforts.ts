/** Anthropic's efforts, from the lowest. */
export const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

export type Effort = (typeof EFFORTS)[number];

/**
 * Returns the effort to request of a model that knows only some: the next lower one where it does not know the asked one, or its lowest.
 * Undefined when it knows none. What is no effort stays what it is, for the model's server to reject.
 */
export function fittingEffort(asked: unknown, known: readonly Effort[]): unknown {
  if (asked === undefined || known.length === 0) {
    return undefined;
  }
  const place = (EFFORTS as readonly unknown[]).indexOf(asked);
  return place === -1
    ? asked
    : (EFFORTS.slice(0, place + 1).findLast((one) => known.includes(one)) ?? known[0]);
}
