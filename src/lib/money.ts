declare const unit: unique symbol;

/** An amount of money in nano-USD (1e-9 USD). The only representation of money inside Tollgate. */
export type NanoUsd = bigint & { readonly [unit]: 'nano-USD' };

export const NANO_USD_PER_USD = 1_000_000_000n;

/** Largest amount a BIGINT column can hold, in nano-USD (about 9.2 billion USD). */
const NANO_USD_MAX = 9_223_372_036_854_775_807n;

const USD_PATTERN = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/;

/** Brands a bigint (or the string a BIGINT column arrives as) as nano-USD. Throws RangeError beyond BIGINT. */
export function nanoUsd(value: bigint | string | number): NanoUsd {
  const amount = BigInt(value);
  if (amount > NANO_USD_MAX || amount < -NANO_USD_MAX) {
    throw new RangeError(`amount ${amount} does not fit into nano-USD BIGINT`);
  }
  return amount as NanoUsd;
}

export const ZERO_USD = nanoUsd(0n);

/**
 * Parses a plain decimal string of USD ("12.5", "-0.000000375") into nano-USD.
 * Returns undefined for exponents, more than 9 decimals, signs other than "-", or amounts beyond BIGINT.
 */
export function parseUsd(text: string): NanoUsd | undefined {
  const match = USD_PATTERN.exec(text);
  if (!match) {
    return undefined;
  }
  const [, sign, whole = '0', fraction = ''] = match;
  const magnitude = BigInt(whole) * NANO_USD_PER_USD + BigInt(fraction.padEnd(9, '0'));
  return magnitude > NANO_USD_MAX ? undefined : nanoUsd(sign === '-' ? -magnitude : magnitude);
}

/** Formats nano-USD as a plain decimal string of USD with at least two and at most nine decimals. */
export function formatUsd(amount: NanoUsd): string {
  const magnitude = amount < 0n ? -amount : amount;
  const whole = magnitude / NANO_USD_PER_USD;
  const fraction = (magnitude % NANO_USD_PER_USD)
    .toString()
    .padStart(9, '0')
    .replace(/0{1,7}$/, '');
  return `${amount < 0n ? '-' : ''}${whole}.${fraction}`;
}

/** Converts to USD as a JSON number, for the ApiKey members that the interface types as numbers. Never used in calculations. */
export function usdNumber(amount: NanoUsd): number {
  return Number(formatUsd(amount));
}

/**
 * Converts a JSON number of USD to nano-USD through its shortest decimal text, so no float arithmetic is involved. A number with more
 * decimals, such as 0.1 + 0.2, is rounded to the nano-USD. Returns undefined for a value that is not finite, is negative, is above 1e7 USD,
 * or is not zero but rounds to zero.
 */
export function parseUsdNumber(value: number): NanoUsd | undefined {
  if (!Number.isFinite(value) || value < 0 || value > 10_000_000) {
    return undefined;
  }
  const amount = parseUsd(String(value)) ?? parseUsd(value.toFixed(9));
  return amount === ZERO_USD && value > 0 ? undefined : amount;
}

/** Adds amounts, in nano-USD. */
export function sumUsd(amounts: Iterable<NanoUsd>): NanoUsd {
  let total = 0n;
  for (const amount of amounts) {
    total += amount;
  }
  return nanoUsd(total);
}
