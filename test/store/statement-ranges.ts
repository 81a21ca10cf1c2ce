// biome-ignore lint/suspicious/noExplicitAny: the parse tree of Postgres, whose nodes are told apart by their only member
export type Node = any;

/** Columns of each table. */
export type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** What a name in FROM stands for. */
export interface Range {
  readonly key: string;
  /** Undefined for a subquery, a CTE and a function. */
  readonly table: string | undefined;
  /** What its columns are made of, where that is a column itself. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly columns: ReadonlySet<string> | undefined;
}

export type Scope = Map<string, Range>;

/** Names that stand for the same value: joined two by two, and compared by a representative. */
export class EqualNames {
  readonly #parents = new Map<string, string>();

  representative(name: string): string {
    const parent = this.#parents.get(name);
    return parent === undefined ? name : this.representative(parent);
  }

  join(one: string, other: string): void {
    const [from, to] = [this.representative(one), this.representative(other)];
    if (from !== to) {
      this.#parents.set(from, to);
    }
  }
}
