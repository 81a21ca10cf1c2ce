/** The upper edge of one layer: a row (fractional pixels from the top) per column. */
export type Crest = Float32Array;

/**
 * For layers from far to near, the row per column from which nearer layers hide everything: painting further down is
 * wasted. The nearer crest's own row stays included, since its edge is blended over what stands behind.
 */
export function hiddenFrom(crests: readonly Crest[], height: number): Int32Array[] {
  const limits: Int32Array[] = [];
  let nearer: Int32Array | undefined;
  for (const crest of [...crests].reverse()) {
    const limit = nearer ?? new Int32Array(crest.length).fill(height);
    limits.unshift(limit);
    nearer = limit.map((row, x) => Math.max(0, Math.min(row, Math.floor(crest[x] as number) + 1)));
  }
  return limits;
}

/** The lowest row that is not yet hidden in any column: skies end there. */
export function skyRows(crest: Crest | undefined, height: number): number {
  let lowest = 0;
  for (const row of crest ?? [height]) {
    lowest = Math.max(lowest, row);
  }
  return Math.min(height, Math.ceil(lowest) + 1);
}
