import { createHash } from 'node:crypto';
import { newUuid } from '../lib/ids.ts';

/**
 * The reference of an operator's movement: the same for the same Idempotency-Key, so that a repeated request books
 * nothing, and a new one without the header.
 */
export function requestReference(accountId: string, idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) {
    return newUuid();
  }
  const hex = createHash('sha256').update(`${accountId}\n${idempotencyKey}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
