interface NamedKey {
  readonly hash: string;
  readonly name: string;
}

const HASH_SHOWN = 12;

/** Returns the start of a key's hash, for a key that has no name of its own. */
export function shortHash(hash: string): string {
  return hash.slice(0, HASH_SHOWN);
}

/** Returns how to call each key, by hash: its name, with the start of its hash where several keys have the same name. */
export function keyNames(keys: readonly NamedKey[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of keys) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map(
    keys.map(({ hash, name }) => [hash, counts.get(name) === 1 ? name : `${name} (${shortHash(hash)})`]),
  );
}
