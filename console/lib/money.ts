/** Amounts of USD come as decimal text and are computed as `bigint` nano-USD (1e-9). No float takes part. */

const NANO_PER_USD = 1_000_000_000n;
const DECIMAL = /^(-?)(\d+)(?:\.(\d{1,12}))?$/;
/** Joins groups of digits; taken away when an amount is copied. */
export const THIN_SPACE = '\u202f';

/** The nano-USD of a decimal text; undefined for anything else, or finer than a nano-USD. */
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

/** As {@link parseUsd}, for amounts that the API answers. Throws Error on what is no amount: a wrong total must not be shown. */
export function usd(text: string): bigint {
  const nano = parseUsd(text);
  if (nano === undefined) {
    throw new Error(`not an amount of USD: ${text}`);
  }
  return nano;
}

/** The nano-USD of the few amounts that the API types as JSON numbers, through their shortest decimal text. */
export function usdOfNumber(value: number): bigint {
  const [digits = '0', exponent] = String(value).split('e');
  if (exponent === undefined) {
    return usd(digits);
  }
  // only what is below 1e-6 is written with an exponent, and nano-USD end at 1e-9
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

/** Plain decimal text, at least two decimals: what is copied and sent. */
export function plainUsd(nano: bigint): string {
  const { sign, whole, fraction } = partsOf(nano);
  return `${sign}${whole}.${fraction.replace(/0{1,7}$/, '')}`;
}

export interface AmountText {
  /** Sign, currency, dollars and cents: `$1,204.11`. */
  readonly main: string;
  /** The digits behind the cents in groups of three; empty when there are none. */
  readonly rest: string;
}

/** Every digit of an amount: for tables, details and statements. */
export function exactUsd(nano: bigint): AmountText {
  const { sign, whole, fraction } = partsOf(nano);
  const shown = threes(fraction.replace(/0{1,7}$/, ''));
  return { main: `${minus(sign)}$${thousands(whole)}.${shown.slice(0, 2)}`, rest: shown.slice(2) };
}

/** As few digits as say what it is: two decimals from a dollar on, two significant digits below. Zero only for zero. */
export function shortUsd(nano: bigint): string {
  const magnitude = nano < 0n ? -nano : nano;
  const step =
    magnitude >= NANO_PER_USD ? 10_000_000n : 10n ** BigInt(Math.max(0, magnitude.toString().length - 2));
  const { whole, fraction } = partsOf(((magnitude + step / 2n) / step) * step);
  const sign = nano < 0n ? '-' : '';
  return `${minus(sign)}$${thousands(whole)}.${threes(fraction.replace(/0{1,7}$/, ''))}`;
}

/** How much of `whole` a part is, from 0 to 1: pixels of a bar, never money. */
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

/** An amount as the JSON number that a few members of the API are. */
export function jsonUsd(nano: bigint): number {
  return JSON.parse(plainUsd(nano)) as number;
}
