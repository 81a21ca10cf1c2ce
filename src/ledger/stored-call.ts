import { publicId, requestUuidOf } from '../lib/ids.ts';
import type { HoldRequest, ProviderAttempt, Settlement } from './ledger.types.ts';

/*
 * A call as stored in its row, without what the row already says elsewhere. There is a row for every call ever made, so bytes count.
 */

/** The only attempt of a call that its first provider answered: ms, and the provider's name for the model. */
type AnsweredAtOnce = readonly [number, string];

export type StoredAttempts = readonly ProviderAttempt[] | AnsweredAtOnce;

/** The columns that supply what stored attempts leave out. */
interface AttemptsRow {
  readonly attempts: StoredAttempts;
  readonly provider: string | null;
  /** In nano-USD as decimal text. */
  readonly provider_cost: string | null;
}

/** Returns the request id to store, or null where it follows from the id of the call. */
export function storedRequestId({ id, requestId }: HoldRequest): string | null {
  return requestId === ownRequestId(id) ? null : requestId;
}

/** Returns the id of the request that made a call, from the columns of the call's row. */
export function requestIdOfCall(id: string, stored: string | null): string {
  return stored ?? ownRequestId(id);
}

/**
 * Shortens a single answered attempt to what the settlement does not say. Attempts of tasks stay
 * whole: runs billed before are put in front.
 */
export function storedAttempts({ attempts, provider, providerCost, task }: Settlement): StoredAttempts {
  const [only] = attempts;
  const cost = providerCost?.toString();
  const isTold =
    !task &&
    attempts.length === 1 &&
    only?.outcome === 'ok' &&
    only.provider === provider &&
    only.cost === cost &&
    only.said === undefined;
  return only && isTold ? [only.latencyMs, only.model] : attempts;
}

/** The inverse of {@link storedAttempts}. */
export function attemptsOfCall({
  attempts,
  provider,
  provider_cost,
}: AttemptsRow): readonly ProviderAttempt[] {
  if (!isAnsweredAtOnce(attempts)) {
    return attempts;
  }
  const [latencyMs, model] = attempts;
  const cost = provider_cost === null ? {} : { cost: provider_cost };
  return [{ provider: provider ?? '', model, outcome: 'ok', latencyMs, ...cost }];
}

/** {@link attemptsOfCall} in SQL: the attempts of a row `g` of generations, as an array of objects without the cost. */
export const ATTEMPTS_OF_CALL = `CASE WHEN jsonb_typeof(g.attempts->0) = 'number'
  THEN jsonb_build_array(jsonb_build_object('provider', g.provider, 'model', g.attempts->1, 'outcome', 'ok', 'latencyMs', g.attempts->0))
  ELSE g.attempts END`;

function isAnsweredAtOnce(attempts: StoredAttempts): attempts is AnsweredAtOnce {
  return typeof attempts[0] === 'number';
}

function ownRequestId(callId: string): string {
  return publicId('request', requestUuidOf(callId));
}
