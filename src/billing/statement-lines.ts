import type { EntryRow } from './transactions.read-model.ts';

/** Above this many charges a statement on paper helps nobody: they are summed, and the CSV has each. */
const CHARGES_LISTED_MAX = 500;
/** Bounds what is held in memory; operators book by hand. */
const OTHERS_LISTED_MAX = 5_000;

/** The movements of a statement as far as paper lists them, and what the rest comes to. */
export class StatementLines {
  readonly #listed: EntryRow[] = [];
  #charges = 0;
  #others = 0;
  #further = 0n;

  get listed(): readonly EntryRow[] {
    return this.#listed;
  }

  /** How many are not listed. */
  get furtherCount(): number {
    return this.#charges + this.#others - this.#listed.length;
  }

  /** Nano-USD of those. */
  get furtherAmount(): bigint {
    return this.#further;
  }

  /** The same movements, one by one; each is taken note of as it passes. */
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
