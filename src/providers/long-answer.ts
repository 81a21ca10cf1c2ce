import type { ReportedUsage } from '../lib/usage.ts';
import { parseProviderJson } from './json.ts';
import { ObjectScan } from './object-scan.ts';

/** Maximum size of a JSON answer that is passed on, in bytes: 2,048 vectors of 4,096 numbers in base64, with room to spare. */
export const ANSWER_BYTES_MAX = 50_331_648;

/**
 * How much is read of a longer one, to learn from its end what it costs: 128,000 tokens, each with twenty log probabilities. Only the end is
 * kept.
 */
export const ANSWER_LIMITS = { wholeMax: ANSWER_BYTES_MAX, endMax: 65_536, readMax: 1_073_741_824 };

const USAGE = /"usage"\s*:\s*(?=\{)/g;

/** Returns the last usage in the end of a JSON answer, as `read` understands it. Undefined if there is none. */
export function usageAtEnd(
  end: string,
  read: (usage: unknown) => ReportedUsage | undefined,
): ReportedUsage | undefined {
  const last = [...end.matchAll(USAGE)].at(-1);
  const text = last ? end.slice(last.index + last[0].length) : '';
  return read(parseProviderJson(text.slice(0, new ObjectScan().endIn(text))));
}
