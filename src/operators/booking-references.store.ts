import { namedUuid, newOwnedUuid } from '../lib/ids.ts';
import { invariant } from '../lib/invariant.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import { bookingReference } from './accounts.sql.ts';

/** What operators' bookings are known by: time-ordered, so that an entry lies in the partition of its month. */
export class BookingReferences {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** The same for the same Idempotency-Key, so that a repeated request books nothing; a new one without the header. */
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
