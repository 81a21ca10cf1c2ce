import { namedOwnedUuid, namedUuid, publicId } from '../lib/ids.ts';

/** Statements of months from this one on have ids with time and bucket; an id that was given out never changes. */
const FIRST_OWNED_MONTH = Date.UTC(2027, 0);

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
  const timeMs = monthStart(month).getTime();
  return timeMs < FIRST_OWNED_MONTH
    ? namedInvoiceId(accountId, month, version)
    : publicId('invoice', namedOwnedUuid(statementName(accountId, month, version), accountId, timeMs));
}

/** Whether a public id is that of an account's statement, as this release or an earlier one told it. */
export function isInvoiceId(id: string, accountId: string, month: Date, version = 1): boolean {
  return id === invoiceId(accountId, month, version) || id === namedInvoiceId(accountId, month, version);
}

function namedInvoiceId(accountId: string, month: Date, version: number): string {
  return publicId('invoice', namedUuid(statementName(accountId, month, version)));
}

function statementName(accountId: string, month: Date, version: number): string {
  return `${accountId}/${monthStart(month).toISOString().slice(0, 7)}${version === 1 ? '' : `/${version}`}`;
}
