import { createHash } from 'node:crypto';
import { publicId } from '../lib/ids.ts';

/** First instant (UTC) of the month that a time lies in. */
export function monthStart(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1));
}

/** First instant (UTC) of the month after the one that a time lies in. */
export function nextMonthStart(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1));
}

/**
 * The public id of an account's statement for a month. Made out of both, so that the running month's draft has the id
 * that its statement will have, and a transaction can name its statement without looking for it. A month that was stated again
 * has an id per version.
 */
export function invoiceId(accountId: string, month: Date, version = 1): string {
  const name = `${accountId}/${monthStart(month).toISOString().slice(0, 7)}${version === 1 ? '' : `/${version}`}`;
  const hex = createHash('sha256').update(name).digest('hex');
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
  return publicId('invoice', uuid);
}
