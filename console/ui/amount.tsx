import { exactUsd, plainUsd, shortUsd, usd } from '../lib/money.ts';

export interface AmountProps {
  /** Decimal text as returned by the API, or nano-USD. */
  readonly value: string | bigint | undefined;
  /** Shows only a few digits; the tooltip shows the full amount. */
  readonly short?: boolean;
}

/** Characters of an amount that fit in a line of a key figure: `$999,999.99`. */
const FIGURE_LENGTH = 11;

/** An amount of money, with tabular digits. Missing data is shown as a dash, never as zero. */
export function Amount({ value, short = false }: AmountProps) {
  if (value === undefined) {
    return <span class="amount">–</span>;
  }
  const nano = typeof value === 'bigint' ? value : usd(value);
  if (short) {
    const text = shortUsd(nano);
    return (
      <span
        class={text.length > FIGURE_LENGTH ? 'amount amount-long' : 'amount'}
        title={`${plainUsd(nano)} USD`}
      >
        {text}
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
