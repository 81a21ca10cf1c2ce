import {
  affordableOutputTokens,
  type BilledUnits,
  chargeFor,
  costCeiling,
  ONE_CALL,
} from '../catalog/pricing.ts';
import { requireMaxCost } from '../http/input/max-cost.ts';
import type { LineItem } from '../ledger/ledger.types.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import { NO_USAGE } from '../lib/usage.ts';
import { contextExceeded, type InputEstimate } from './input-estimate.ts';
import type { InvocableModel } from './invocation.types.ts';

export interface HoldWish {
  readonly model: InvocableModel;
  readonly input: InputEstimate;
  readonly units: BilledUnits;
  /** The output cap the caller asked for, in tokens. */
  readonly maxTokens: number | undefined;
  /** The cost limit the caller set, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  /** Minimum output tokens that make a call worthwhile. */
  readonly floorTokens: number;
}

export interface HoldPlan {
  /** The most the call can cost, and the smallest hold worth taking, in nano-USD. */
  readonly amount: NanoUsd;
  readonly minimum: NanoUsd;
  /** The output cap if money were no limit, in tokens. */
  readonly outputTokens: number;
}

/**
 * Returns how much to hold for a call. Without `max_tokens` a smaller hold is fine, down to the floor. With it, the hold is all or
 * nothing, because the caller asked for exactly that cap. Throws AppError context_length_exceeded or max_cost_exceeded.
 */
export function planHold(wish: HoldWish): HoldPlan {
  const outputTokens = outputCap(wish);
  const floor = costOf(wish, Math.min(outputTokens, wish.floorTokens));
  const full = costOf(wish, outputTokens);
  const amount = wish.maxCost !== undefined && wish.maxCost < full ? wish.maxCost : full;
  requireMaxCost(wish.maxCost, floor);
  return { amount, minimum: wish.maxTokens === undefined ? floor : amount, outputTokens };
}

/** Length of o200k's longest token, in UTF-16 units. */
const TOKEN_UNITS_MAX = 128;

/** Returns a lower bound, in nano-USD, of any hold for a text of that many UTF-16 units. Needs no token count. */
export function leastCost(textLength: number, { pricing }: InvocableModel): NanoUsd {
  return costCeiling(Math.ceil(textLength / TOKEN_UNITS_MAX), 1, ONE_CALL, pricing);
}

/** Returns the output cap that a hold of `granted` nano-USD pays for, in tokens. */
export function grantedOutputTokens(wish: HoldWish, plan: HoldPlan, granted: NanoUsd): number {
  const { input, units, model } = wish;
  const affordable = affordableOutputTokens(granted, input.upperBound, units, model.pricing);
  return Math.max(1, Math.min(plan.outputTokens, affordable));
}

/** Splits a hold of `amount` nano-USD into line items: the input and the units first, the rest goes to the output. */
export function holdLines(
  { input, units, model }: HoldWish,
  amount: NanoUsd,
): Partial<Record<LineItem, NanoUsd>> {
  const nothing = { ...units, requests: 0, images: 0 };
  const lines: Partial<Record<LineItem, NanoUsd>> = {};
  let left = amount;
  const take = (item: LineItem, most: NanoUsd) => {
    const taken = most < left ? most : left;
    if (taken > 0n) {
      lines[item] = taken;
      left = nanoUsd(left - taken);
    }
  };
  take('input', costCeiling(input.upperBound, 0, nothing, model.pricing));
  take(units.requestLine, costCeiling(0, 0, { ...nothing, requests: units.requests }, model.pricing));
  take('image', costCeiling(0, 0, { ...nothing, images: units.images }, model.pricing));
  take('output', left);
  return lines;
}

/** Returns the cost in nano-USD of a call with the counted input and that many output tokens. */
export function expectedCost({ input, units, model }: HoldWish, outputTokens: number): NanoUsd {
  return chargeFor({ ...NO_USAGE, inputTokens: input.charged, outputTokens }, units, model.pricing).amount;
}

function costOf(wish: HoldWish, outputTokens: number): NanoUsd {
  return costCeiling(wish.input.upperBound, outputTokens, wish.units, wish.model.pricing);
}

/** Returns the smallest of three caps: what the caller asks for, what the model can write, and what the context has room for. */
function outputCap(wish: HoldWish): number {
  const { contextLength, maxOutputTokens } = wish.model;
  const room = contextLength - wish.input.tokens;
  if (room < 1) {
    throw contextExceeded(wish.input.tokens, contextLength);
  }
  // The provider checks the context by its own count; leaving room for our upper bound passes its check too.
  const safeRoom = Math.max(contextLength - wish.input.knownBound, Math.min(room, wish.floorTokens));
  return Math.min(wish.maxTokens ?? maxOutputTokens, maxOutputTokens, safeRoom);
}
