import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

const PAYMENTS_PER_RUN = 200;

/** Follows payments whose news did not come, or came before we could use it. */
export function followPaymentsProcessor(
  services: Pick<WorkerServices, 'payments'>,
): Processor<'maintenance.follow-payments'> {
  return async () => ({ payments: await services.payments.sweep(PAYMENTS_PER_RUN) });
}

/** Reads what payments moved at their provider: fees, dates, payouts. */
export function followPaymentMovesProcessor(
  services: Pick<WorkerServices, 'payments'>,
): Processor<'maintenance.follow-payment-moves'> {
  return async () => ({ moves: await services.payments.followMoves() });
}

/** Forgets idempotency keys whose day is over. */
export function expireIdempotencyKeysProcessor(
  services: Pick<WorkerServices, 'idempotencyKeys'>,
): Processor<'maintenance.expire-idempotency-keys'> {
  return async () => ({ keys: await services.idempotencyKeys.expire() });
}

/** Forgets keys that were deleted or expired long ago and never used. */
export function forgetKeysProcessor(
  services: Pick<WorkerServices, 'keys'>,
): Processor<'maintenance.forget-keys'> {
  return async (_, { signal }) => ({ keys: await services.keys.forget(signal) });
}

/** Writes down which accounts are to be told of their credits and keys. */
export function tellAlertsProcessor(
  services: Pick<WorkerServices, 'alerts'>,
): Processor<'maintenance.tell-alerts'> {
  return async (_, { signal }) => ({ accounts: await services.alerts.tell(signal) });
}
