interface Entry<T> {
  readonly value: T;
  place: number;
}

/**
 * What is under way: things that come and go all the time, in no order. Not a Set, because V8 replaces a Set's table every few changes and
 * keeps the old table pointing at the new one: once a table has reached the old generation, all later ones follow it there, dead or not,
 * and with each the calls that it held. Those were a tenth of all garbage, copied twice and left to full collections; without them a
 * scavenge takes half the time and a call a fifth less of the API's processor time (Node 20, 128 connections).
 */
export class Roster<T> {
  readonly #entries: Entry<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** Adds it; the returned function takes it out again, and does nothing when called once more. */
  add(value: T): () => void {
    const entry = { value, place: this.#entries.length };
    this.#entries.push(entry);
    return () => this.#remove(entry);
  }

  /** A copy: what joins or leaves meanwhile does not change it. */
  values(): T[] {
    return this.#entries.map(({ value }) => value);
  }

  #remove(entry: Entry<T>): void {
    if (this.#entries[entry.place] !== entry) {
      return;
    }
    const last = this.#entries.pop();
    if (last && last !== entry) {
      this.#entries[entry.place] = last;
      last.place = entry.place;
    }
  }
}
