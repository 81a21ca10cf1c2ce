export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly operations: number;
}

export interface LoadOptions {
  /** Number of clients, each of which waits for its answer before it calls again. */
  readonly clients: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Runs closed-loop clients for a bounded time and measures what they completed after the warm-up. */
export async function runClients(
  options: LoadOptions,
  operation: (client: number) => Promise<void>,
): Promise<LoadResult> {
  const startedAt = performance.now();
  const measureFrom = startedAt + options.warmUpMs;
  const until = measureFrom + options.measureMs;
  const latencies: number[] = [];
  const client = async (number: number) => {
    for (;;) {
      const begun = performance.now();
      if (begun >= until) {
        return;
      }
      await operation(number);
      const ended = performance.now();
      if (ended >= measureFrom && ended < until) {
        latencies.push(ended - begun);
      }
    }
  };
  await Promise.all(Array.from({ length: options.clients }, (_, number) => client(number)));
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / (options.measureMs / 1_000),
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    operations: latencies.length,
  };
}

/** Returns the value below which `share` (0–1) of the sorted samples lie; 0 without samples. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
