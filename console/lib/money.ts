/** Amounts in USD arrive as decimal text and are computed as `bigint` nano-USD (1e-9), never as floats. */

const NANO_PER_USD = 1_000_000_000n;
const DECIMAL = /^(-?)(\d+)(?:\.(\d{1,12}))?$/;
/** Separates groups of digits; removed when an amount is copied. */
export const THIN_SPACE = '\u202f';

/** Parses decimal text into nano-USD; undefined for anything else, or for more precision than a nano-USD. */
export function parseUsd(text: string): bigint | undefined {
  const match = DECIMAL.exec(text.trim());
  if (!match) {
    return undefined;
  }
  const [, sign, whole = '0', fraction = ''] = match;
  if (/[1-9]/.test(fraction.slice(9))) {
    return undefined;
  }
  const nano = BigInt(whole) * NANO_PER_USD + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** Digits in groups of three, as amounts are shown: `1,000.00`. */
const GROUPED = /^-?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;

/** Parses an amount that a person typed, like {@link parseUsd}, also with the commas with which amounts are shown. */
export function parseTypedUsd(text: string): bigint | undefined {
  const typed = text.trim();
  return parseUsd(GROUPED.test(typed) ? typed.replaceAll(',', '') : typed);
}

/** Parses an amount from the API, like {@link parseUsd}. Throws Error for invalid text: a wrong total must not be shown. */
export function usd(text: string): bigint {
  const nano = parseUsd(text);
  if (nano === undefined) {
    throw new Error(`not an amount of USD: ${text}`);
  }
  return nano;
}

/** Converts one of the few amounts that the API returns as JSON numbers to nano-USD, through its shortest decimal text. */
export function usdOfNumber(value: number): bigint {
  const [digits = '0', exponent] = String(value).split('e');
  if (exponent === undefined) {
    return usd(digits);
  }
  // only values below 1e-6 are written with an exponent, and nano-USD end at 1e-9
  const [whole = '0', fraction = ''] = digits.replace('-', '').split('.');
  const places = -Number.parseInt(exponent, 10);
  const plain = `0.${'0'.repeat(places - 1)}${whole}${fraction}`;
  return digits.startsWith('-') ? -usd(plain) : usd(plain);
}

export function sumUsd(amounts: Iterable<bigint>): bigint {
  let total = 0n;
  for (const amount of amounts) {
    total += amount;
  }
  return total;
}

/** Formats an amount as plain decimal text with at least two decimals, for copying and sending. */
export function plainUsd(nano: bigint): string {
  const { sign, whole, fraction } = partsOf(nano);
  return `${sign}${whole}.${fraction.replace(/0{1,7}$/, '')}`;
}

export interface AmountText {
  /** Sign, currency, dollars and cents: `$1,204.11`. */
  readonly main: string;
  /** The digits after the cents, in groups of three; empty if there are none. */
  readonly rest: string;
}

/** Formats every digit of an amount: for tables, details and statements. */
export function exactUsd(nano: bigint): AmountText {
  const { sign, whole, fraction } = partsOf(nano);
  const shown = threes(fraction.replace(/0{1,7}$/, ''));
  return { main: `${minus(sign)}$${thousands(whole)}.${shown.slice(0, 2)}`, rest: shown.slice(2) };
}

/** Formats an amount with few digits: two decimals from one dollar up, two significant digits below. Shows zero only for zero. */
export function shortUsd(nano: bigint): string {
  const magnitude = nano < 0n ? -nano : nano;
  const step =
    magnitude >= NANO_PER_USD ? 10_000_000n : 10n ** BigInt(Math.max(0, magnitude.toString().length - 2));
  const { whole, fraction } = partsOf(((magnitude + step / 2n) / step) * step);
  const sign = nano < 0n ? '-' : '';
  return `${minus(sign)}$${thousands(whole)}.${threes(fraction.replace(/0{1,7}$/, ''))}`;
}

/** Returns the ratio of a part to `whole`, from 0 to 1: for the pixels of a bar, never for money. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;
}

function partsOf(nano: bigint): { sign: string; whole: string; fraction: string } {
  const magnitude = nano < 0n ? -nano : nano;
  return {
    sign: nano < 0n ? '-' : '',
    whole: (magnitude / NANO_PER_USD).toString(),
    fraction: (magnitude % NANO_PER_USD).toString().padStart(9, '0'),
  };
}

function minus(sign: string): string {
  return sign === '' ? '' : '\u2212';
}

function thousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

function threes(fraction: string): string {
  return fraction.length <= 3 ? fraction : (fraction.match(/.{1,3}/g) ?? []).join(THIN_SPACE);
}

/** Converts an amount to a JSON number, for the few API fields that are numbers. */
export function jsonUsd(nano: bigint): number {
  return JSON.parse(plainUsd(nano)) as number;
}
