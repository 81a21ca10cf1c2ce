import { createHash } from 'node:crypto';
import { type Charge, LINE_ITEMS, type LineItem } from '../ledger/ledger.types.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { TokenUsage } from '../lib/usage.ts';

/** The eight members of a model's public pricing, in the interface's order. */
export const PRICE_NAMES = [
  'prompt',
  'completion',
  'request',
  'image',
  'web_search',
  'internal_reasoning',
  'input_cache_read',
  'input_cache_write',
] as const;
export type PriceName = (typeof PRICE_NAMES)[number];

/** Prices in pico-USD (1e-12 USD) per token, request or image. Integers, so that sums are exact. */
export type Pricing = Readonly<Record<PriceName, bigint>>;

/** Units that are billed besides tokens. */
export interface BilledUnits {
  readonly requests: number;
  readonly images: number;
  /** The line that the price per request is booked on; for a video task that is `video`. */
  readonly requestLine: 'request' | 'image' | 'video';
}

/** The units of one synchronous call. */
export const ONE_CALL: BilledUnits = { requests: 1, images: 0, requestLine: 'request' };

const PICO_PER_NANO = 1_000n;
const PRICE_PATTERN = /^(\d{1,6})(?:\.(\d{1,12}))?$/;

/** Parses a price such as "0.00000015" (USD, up to 12 decimals) into pico-USD. Returns undefined if it is not a price. */
export function parsePrice(text: string): bigint | undefined {
  const match = PRICE_PATTERN.exec(text);
  return match ? BigInt((match[1] ?? '') + (match[2] ?? '').padEnd(12, '0')) : undefined;
}

/** Formats a price as a plain decimal string of USD, "0" if free. */
export function formatPrice(pico: bigint): string {
  const digits = pico.toString().padStart(13, '0');
  const fraction = digits.slice(-12).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`;
}

/**
 * Returns the prices that are published and charged: cached tokens cost as much as the prompt and reasoning as much as the completion,
 * unless they have a price above zero themselves.
 */
export function effectivePrices(pricing: Pricing): Pricing {
  return {
    ...pricing,
    internal_reasoning: orElse(pricing.internal_reasoning, pricing.completion),
    input_cache_read: orElse(pricing.input_cache_read, pricing.prompt),
    input_cache_write: orElse(pricing.input_cache_write, pricing.prompt),
  };
}

/**
 * Returns what a generation costs at the effective prices: the exact sum of its lines, rounded once, half up, to a nano-USD. The lines are
 * rounded by largest remainder, so that they sum to the amount.
 */
export function chargeFor(usage: TokenUsage, units: BilledUnits, pricing: Pricing): Charge {
  const pico = picoLines(usage, units, effectivePrices(pricing));
  const total = LINE_ITEMS.reduce((sum, item) => sum + (pico[item] ?? 0n), 0n);
  const amount = (total + PICO_PER_NANO / 2n) / PICO_PER_NANO;
  return { amount: nanoUsd(amount), lines: apportion(pico, amount) };
}

/**
 * Returns the maximum cost of a call, in nano-USD, that reads at most `inputTokens` and writes at most `outputTokens`:
 * every token at the highest price that could apply, rounded up.
 */
export function costCeiling(
  inputTokens: number,
  outputTokens: number,
  units: BilledUnits,
  pricing: Pricing,
): NanoUsd {
  const pico =
    BigInt(inputTokens) * dearestInput(pricing) +
    BigInt(outputTokens) * dearestOutput(pricing) +
    unitsPico(units, pricing);
  return nanoUsd((pico + PICO_PER_NANO - 1n) / PICO_PER_NANO);
}

/** Returns how many output tokens `budget` nano-USD pays for after the input and the units. Never negative. */
export function affordableOutputTokens(
  budget: NanoUsd,
  inputTokens: number,
  units: BilledUnits,
  pricing: Pricing,
): number {
  const left =
    budget * PICO_PER_NANO - BigInt(inputTokens) * dearestInput(pricing) - unitsPico(units, pricing);
  const price = dearestOutput(pricing);
  if (left < 0n) {
    return 0;
  }
  return price === 0n ? Number.MAX_SAFE_INTEGER : Number(left / price);
}

/**
 * Cuts a charge down to what its hold covers and returns the rest as shortfall (nano-USD): what a hold did not cover is never
 * charged. Lines shrink in proportion, so that they still sum to the amount.
 */
export function capCharge(charge: Charge, limit: NanoUsd): { charge: Charge; shortfall: NanoUsd } {
  if (charge.amount <= limit) {
    return { charge, shortfall: nanoUsd(0n) };
  }
  const scaled: Partial<Record<LineItem, bigint>> = {};
  for (const item of LINE_ITEMS) {
    const line = charge.lines[item];
    if (line !== undefined) {
      scaled[item] = (line * PICO_PER_NANO * limit) / charge.amount;
    }
  }
  return {
    charge: { amount: limit, lines: apportion(scaled, limit) },
    shortfall: nanoUsd(charge.amount - limit),
  };
}

/**
 * Derives an id from a model's prices, so that replicas that load the same catalog agree without communicating. `more`: prices per second
 * or per size, by name.
 */
export function priceVersionId(
  model: string,
  pricing: Pricing,
  more: Readonly<Record<string, string>> = {},
): string {
  const names = PRICE_NAMES.map((name) => pricing[name].toString());
  const canonical = JSON.stringify([model, ...names, ...Object.entries(more).flat()]);
  return createHash('sha256').update(canonical).digest('hex').slice(0, 32);
}

function picoLines(
  usage: TokenUsage,
  units: BilledUnits,
  pricing: Pricing,
): Partial<Record<LineItem, bigint>> {
  const read = BigInt(usage.cacheReadTokens);
  const write = BigInt(usage.cacheWriteTokens);
  const reasoning = BigInt(usage.reasoningTokens);
  const lines: Partial<Record<LineItem, bigint>> = {
    input: atLeastZero(BigInt(usage.inputTokens) - read - write) * pricing.prompt,
    cache_read: read * pricing.input_cache_read,
    cache_write: write * pricing.input_cache_write,
    output: atLeastZero(BigInt(usage.outputTokens) - reasoning) * pricing.completion,
    reasoning: reasoning * pricing.internal_reasoning,
    image: BigInt(units.images) * pricing.image,
  };
  const line = units.requestLine;
  lines[line] = (lines[line] ?? 0n) + BigInt(units.requests) * pricing.request;
  return lines;
}

/** Rounds lines from pico-USD to nano-USD so that they sum to `amount`: rounds down first, then adds one to the largest remainders. */
function apportion(pico: Partial<Record<LineItem, bigint>>, amount: bigint): Charge['lines'] {
  const lines: Partial<Record<LineItem, NanoUsd>> = {};
  let missing = amount;
  for (const item of LINE_ITEMS) {
    const floor = (pico[item] ?? 0n) / PICO_PER_NANO;
    if (floor > 0n) {
      lines[item] = nanoUsd(floor);
      missing -= floor;
    }
  }
  if (missing > 0n) {
    const remainder = (item: LineItem) => (pico[item] ?? 0n) % PICO_PER_NANO;
    const byRemainder = LINE_ITEMS.filter((item) => remainder(item) > 0n).sort((a, b) =>
      Number(remainder(b) - remainder(a)),
    );
    for (const item of byRemainder.slice(0, Number(missing))) {
      lines[item] = nanoUsd((lines[item] ?? 0n) + 1n);
    }
  }
  return lines;
}

function unitsPico(units: BilledUnits, pricing: Pricing): bigint {
  return BigInt(units.requests) * pricing.request + BigInt(units.images) * pricing.image;
}

function dearestInput(pricing: Pricing): bigint {
  return [pricing.prompt, pricing.input_cache_read, pricing.input_cache_write].reduce(dearer);
}

function dearestOutput(pricing: Pricing): bigint {
  return dearer(pricing.completion, pricing.internal_reasoning);
}

function dearer(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Returns the fallback for a price of zero: for these prices zero means "not set", not "free". */
function orElse(price: bigint, fallback: bigint): bigint {
  return price === 0n ? fallback : price;
}

function atLeastZero(count: bigint): bigint {
  return count < 0n ? 0n : count;
}
