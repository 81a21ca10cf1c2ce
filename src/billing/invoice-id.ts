import { namedOwnedUuid, namedUuid, publicId } from '../lib/ids.ts';

/** From this month on, statement ids carry time and bucket. Earlier months keep the ids that were given out. */
const FIRST_OWNED_MONTH = Date.UTC(2027, 0);

/** Returns the first instant (UTC) of the month that contains a time. */
export function monthStart(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1));
}

/** Returns the first instant (UTC) of the month after the one that contains a time. */
export function nextMonthStart(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1));
}

/**
 * Returns the public id of an account's statement for a month. It is derived from both, so that the current month's draft already has the
 * id of its statement, and a transaction can name its statement without looking it up. A reissued month has an id per version.
 */
export function invoiceId(accountId: string, month: Date, version = 1): string {
  const timeMs = monthStart(month).getTime();
  return timeMs < FIRST_OWNED_MONTH
    ? namedInvoiceId(accountId, month, version)
    : publicId('invoice', namedOwnedUuid(statementName(accountId, month, version), accountId, timeMs));
}

/** Returns whether a public id is that of an account's statement, in the form of this release or of an earlier one. */
export function isInvoiceId(id: string, accountId: string, month: Date, version = 1): boolean {
  return id === invoiceId(accountId, month, version) || id === namedInvoiceId(accountId, month, version);
}

function namedInvoiceId(accountId: string, month: Date, version: number): string {
  return publicId('invoice', namedUuid(statementName(accountId, month, version)));
}

function statementName(accountId: string, month: Date, version: number): string {
  return `${accountId}/${monthStart(month).toISOString().slice(0, 7)}${version === 1 ? '' : `/${version}`}`;
}
