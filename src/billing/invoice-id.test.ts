import { bucketOf, newUuid, parsePublicId, uuidTimeMs } from '../lib/ids.ts';
import { invoiceId, isInvoiceId } from './invoice-id.ts';

const account = newUuid();
const [before, after] = [new Date('2026-12-31T23:59:59Z'), new Date('2027-01-01T00:00:00Z')];

test('statement ids from 2027 on carry the time of their month and the bucket of their account', () => {
  const stored = parsePublicId('invoice', invoiceId(account, after)) ?? '';
  expect([uuidTimeMs(stored), bucketOf(stored)]).toEqual([after.getTime(), bucketOf(account)]);
  expect(invoiceId(account, new Date('2027-01-31T12:00:00Z'))).toBe(invoiceId(account, after));
  expect(invoiceId(account, after, 2)).not.toBe(invoiceId(account, after));
});

test('the id of an earlier month never changes', () => {
  expect(invoiceId('019abcde-0000-7000-8000-000000000abc', before)).toBe('inv_06H9NQ88QK5D2M5R347G3BFJZD');
});

test.each([before, after])('a statement of %p is found by its id, in the form of any release', (month) => {
  expect(isInvoiceId(invoiceId(account, month), account, month)).toBe(true);
  expect(isInvoiceId(invoiceId(account, month, 2), account, month)).toBe(false);
  expect(isInvoiceId(invoiceId(account, month), newUuid(), month)).toBe(false);
});
