import type { EntryRow } from './transactions.read-model.ts';

/** A PDF with more charges than this helps nobody: the rest is summed up, and the CSV lists each. */
const CHARGES_LISTED_MAX = 500;
/** Bounds the memory used; operators book by hand. */
const OTHERS_LISTED_MAX = 5_000;

/** Collects the movements that a statement's PDF lists, and sums up the rest. */
export class StatementLines {
  readonly #listed: EntryRow[] = [];
  #charges = 0;
  #others = 0;
  #further = 0n;

  get listed(): readonly EntryRow[] {
    return this.#listed;
  }

  /** Number of movements that are not listed. */
  get furtherCount(): number {
    return this.#charges + this.#others - this.#listed.length;
  }

  /** Sum of the movements that are not listed, in nano-USD. */
  get furtherAmount(): bigint {
    return this.#further;
  }

  /** Passes the movements on one by one and records each. */
  async *through(lines: AsyncIterable<EntryRow>): AsyncGenerator<EntryRow> {
    for await (const row of lines) {
      this.#add(row);
      yield row;
    }
  }

  #add(row: EntryRow): void {
    const isCharge = row.type === 'usage_charge';
    const isListed = isCharge ? this.#charges < CHARGES_LISTED_MAX : this.#others < OTHERS_LISTED_MAX;
    if (isCharge) {
      this.#charges += 1;
    } else {
      this.#others += 1;
    }
    if (isListed) {
      this.#listed.push(row);
    } else {
      this.#further += BigInt(row.amount);
    }
  }
}
