import type { Generation } from '../../api/types.gen.ts';
import { formatCount, t } from '../../lib/text.ts';

/** Formats tokens per second after the first one; a dash if it cannot be computed. */
export function speedOf({ usage, latency_ms: latency, first_token_ms: first }: Generation): string {
  const ms = latency - (first ?? 0);
  if (usage.output_tokens < 2 || ms <= 0) {
    return '–';
  }
  return t('{count} tok/s', { count: formatCount(Math.round((usage.output_tokens * 1_000) / ms)) });
}
