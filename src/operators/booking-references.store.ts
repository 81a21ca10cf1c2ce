import { invariant } from '../lib/errors.ts';
import { namedUuid, newOwnedUuid } from '../lib/ids.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import { bookingReference } from './accounts.sql.ts';

/** References of operators' bookings. They are time-ordered, so that an entry is in the partition of its month. */
export class BookingReferences {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /**
   * Returns the same reference for the same Idempotency-Key, so that a repeated request books nothing; a new one without the
   * header.
   */
  async of(accountId: string, idempotencyKey: string | undefined): Promise<string> {
    if (idempotencyKey === undefined) {
      return newOwnedUuid(accountId);
    }
    const values = [accountId, namedUuid(`${accountId}\n${idempotencyKey}`)];
    const [row] = await run<{ reference: string }>(this.#cells.of(accountId).money, bookingReference, values);
    invariant(row, 'a request has a reference');
    return row.reference;
  }
}
