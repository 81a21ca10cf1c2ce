// biome-ignore lint/suspicious/noExplicitAny: the parse tree of Postgres, whose nodes are distinguished by their only field
export type Node = any;

/** Columns of each table. */
export type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** An entry of FROM that a name refers to. */
export interface Range {
  readonly key: string;
  /** Undefined for a subquery, a CTE and a function. */
  readonly table: string | undefined;
  /** Source column of each result column that is a plain column. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly columns: ReadonlySet<string> | undefined;
}

export type Scope = Map<string, Range>;

/** Groups names that have the same value: they are joined in pairs and compared by a representative. */
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
