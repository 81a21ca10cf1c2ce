import { exactUsd, plainUsd, shortUsd, usd } from '../lib/money.ts';

export interface AmountProps {
  /** Decimal text as the API gives it, or nano-USD. */
  readonly value: string | bigint | undefined;
  /** As few digits as say what it is; the whole amount stays the tooltip. */
  readonly short?: boolean;
}

/** An amount of money, with tabular digits. No data is a dash, never a zero. */
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
