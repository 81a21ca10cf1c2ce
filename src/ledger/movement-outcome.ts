import { AppError } from '../lib/errors.ts';

/** Returns the outcome of a movement's database function. Throws AppError when the movement was rejected. */
export function posted(outcome: string | undefined): 'posted' | 'exists' {
  if (outcome === 'posted' || outcome === 'exists') {
    return outcome;
  }
  throw refused(outcome ?? 'nothing');
}

function refused(outcome: string): Error {
  switch (outcome) {
    case 'account_not_found':
      return new AppError('account_not_found', 'There is no such account.');
    case 'account_erased':
      return new AppError(
        'account_not_found',
        'This account was erased and stays closed: nobody could spend these credits. Its remaining credits can be taken back.',
      );
    case 'insufficient_credits':
      return new AppError(
        'insufficient_credits',
        'The account does not have that much available: running calls may hold part of its balance.',
      );
    case 'charge_not_found':
    case 'purchase_not_found':
      return new AppError('transaction_not_found', 'There is no such transaction in this account.');
    case 'exceeds_charge':
    case 'exceeds_purchase':
    case 'exceeds_reversal':
      return new AppError('invalid_parameter', 'amount: exceeds what is left of the transaction.');
    case 'reference_conflict':
      return new AppError(
        'idempotency_key_reused',
        'This Idempotency-Key was used for another booking, with a different amount, object, description or account.',
      );
    default:
      return new Error(`a movement returned ${outcome}`);
  }
}
