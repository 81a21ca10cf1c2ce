import type pg from 'pg';
import { namedUuid, newOwnedUuid } from '../lib/ids.ts';
import { invariant } from '../lib/invariant.ts';
import { run } from '../store/statement.ts';
import { bookingReference } from './accounts.sql.ts';

/** What operators' bookings are known by: time-ordered, so that an entry lies in the partition of its month. */
export class BookingReferences {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** The same for the same Idempotency-Key, so that a repeated request books nothing; a new one without the header. */
  async of(accountId: string, idempotencyKey: string | undefined): Promise<string> {
    if (idempotencyKey === undefined) {
      return newOwnedUuid(accountId);
    }
    const values = [accountId, namedUuid(`${accountId}\n${idempotencyKey}`)];
    const [row] = await run<{ reference: string }>(this.#pool, bookingReference, values);
    invariant(row, 'a request has a reference');
    return row.reference;
  }
}
