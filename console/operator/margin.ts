import type { Margin } from '../api/types.gen.ts';
import { usd } from '../lib/money.ts';

/** Sums of margin report rows, in nano-USD. */
export interface MarginSums {
  readonly calls: number;
  readonly failed: number;
  readonly charged: bigint;
  readonly refunded: bigint;
  readonly cost: bigint;
  readonly margin: bigint;
  /** The part of `charged` whose cost is unknown. */
  readonly unknown: bigint;
  /** The part of `refunded` whose cost is unknown. */
  readonly refundedUnknown: bigint;
}

const NOTHING: MarginSums = {
  ...{ calls: 0, failed: 0 },
  ...{ charged: 0n, refunded: 0n, cost: 0n, margin: 0n, unknown: 0n, refundedUnknown: 0n },
};

export function sumOf(rows: readonly Margin[]): MarginSums {
  return rows.reduce(
    (sum, row) => ({
      calls: sum.calls + row.calls,
      failed: sum.failed + row.failed_calls,
      charged: sum.charged + usd(row.charged),
      refunded: sum.refunded + usd(row.refunded),
      cost: sum.cost + usd(row.provider_cost),
      margin: sum.margin + usd(row.margin),
      unknown: sum.unknown + usd(row.charged_without_cost),
      refundedUnknown: sum.refundedUnknown + usd(row.refunded_without_cost),
    }),
    NOTHING,
  );
}

/** Returns what is known of margins: only of charges with a known cost and their refunds, undefined if there are none. In nano-USD. */
export function knownOf({ charged, unknown, refundedUnknown, cost, margin }: MarginSums): {
  readonly charged: bigint;
  readonly cost: bigint | undefined;
  readonly margin: bigint | undefined;
} {
  const known = charged - unknown;
  return known === 0n
    ? { charged: known, cost: undefined, margin: undefined }
    : { charged: known, cost, margin: margin - unknown + refundedUnknown };
}

/** Formats a percentage like `41.6 %`, cut to tenths; a dash if there is nothing to compare with. */
export function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return '–';
  }
  const tenths = (part * 1_000n) / whole;
  const size = tenths < 0n ? -tenths : tenths;
  return `${tenths < 0n ? '\u2212' : ''}${size / 10n}.${size % 10n} %`;
}
