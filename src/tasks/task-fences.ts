/** A value to write, with its fence. */
export interface Fenced<Value> {
  readonly id: string;
  readonly attempt: number;
  readonly value: Value;
}

/** Identifies a claim in an answer. */
export interface FenceRow extends Record<string, unknown> {
  id: string;
  attempt: number;
}

/** Separates ids and attempts, as statements take them. */
export function fencesOf(items: readonly { id: string; attempt: number }[]): [string[], number[]] {
  return [items.map((item) => item.id), items.map((item) => item.attempt)];
}

export function fenceKey({ id, attempt }: { id: string; attempt: number }): string {
  return `${id}/${attempt}`;
}

export function byFence<Row extends FenceRow>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [fenceKey(row), row]));
}
