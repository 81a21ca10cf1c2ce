import { exactUsd, plainUsd, shortUsd, usd } from '../lib/money.ts';

export interface AmountProps {
  /** Decimal text as returned by the API, or nano-USD. */
  readonly value: string | bigint | undefined;
  /** Shows only a few digits; the tooltip shows the full amount. */
  readonly short?: boolean;
}

/** An amount of money, with tabular digits. Missing data is shown as a dash, never as zero. */
export function Amount({ value, short = false }: AmountProps) {
  if (value === undefined) {
    return <span class="amount">–</span>;
  }
  const nano = typeof value === 'bigint' ? value : usd(value);
  if (short) {
    return (
      <span class="amount" title={`${plainUsd(nano)} USD`}>
        {shortUsd(nano)}
      </span>
    );
  }
  const { main, rest } = exactUsd(nano);
  return (
    <span class="amount">
      {main}
      {rest === '' ? null : <span class="amount-rest">{rest}</span>}
    </span>
  );
}
