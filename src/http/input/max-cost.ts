import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../lib/errors.ts';
import { formatUsd, type NanoUsd, parseUsd } from '../../lib/money.ts';

const NAME = 'x-max-cost';

/** The request header by which a caller limits what a call may cost, for the API description. */
export const MAX_COST_HEADER: Readonly<Record<string, string>> = {
  [NAME]:
    'Maximum cost of this call, as a decimal amount of USD, e.g. 0.05; a more expensive call is rejected with 402',
};

/** Returns the caller's limit for a call in nano-USD, or undefined. Throws AppError invalid_parameter for what is no amount. */
export function maxCostOf(headers: IncomingHttpHeaders): NanoUsd | undefined {
  const header = headers[NAME];
  if (header === undefined) {
    return undefined;
  }
  const amount = typeof header === 'string' ? parseUsd(header) : undefined;
  if (amount === undefined || amount < 0n) {
    throw new AppError('invalid_parameter', `${NAME}: must be a decimal amount of USD, e.g. "0.05"`);
  }
  return amount;
}

/** Throws AppError max_cost_exceeded when a call needs at least `least` and its caller allows less, both in nano-USD. */
export function requireMaxCost(maxCost: NanoUsd | undefined, least: NanoUsd): void {
  if (maxCost !== undefined && maxCost < least) {
    const [limit, needed] = [formatUsd(maxCost), formatUsd(least)];
    throw new AppError('max_cost_exceeded', `${NAME} ${limit} is less than this call needs (${needed})`);
  }
}
