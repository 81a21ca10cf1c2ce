import { merged } from '../../lib/merged.ts';
import { type JsonObject, objectOf, without } from '../../providers/json.ts';
import type { RequestDialect } from '../../providers/provider.types.ts';

/** Members that we act on ourselves. */
const OURS = new Set(['include_reasoning']);

/** Names of a seed, which servers know one of. */
const SEEDS: readonly (readonly [name: string, other: string])[] = [
  ['seed', 'random_seed'],
  ['random_seed', 'seed'],
];

/** Removes the members that a server rejects because it does not know them, and gives a seed the name that it has there. */
export function withKnownMembers(body: JsonObject, known: readonly string[] | undefined): JsonObject {
  if (!known) {
    return body;
  }
  let named = body;
  for (const [name, other] of SEEDS) {
    if (named[name] !== undefined && !known.includes(name) && known.includes(other)) {
      named = merged(without(named, name), { [other]: named[name] });
    }
  }
  return without(named, ...Object.keys(named).filter((name) => !known.includes(name)));
}

/** Returns the members of a request that a server does not get because it does not know them. */
export function unknownMembers(
  body: JsonObject,
  from: RequestDialect,
  known: readonly string[] | undefined,
): string[] {
  if (!known) {
    return [];
  }
  if (from === 'messages') {
    return !known.includes('user') && objectOf(body.metadata).user_id !== undefined
      ? ['metadata.user_id']
      : [];
  }
  const isSaidOtherwise = (name: string) =>
    SEEDS.some(([one, other]) => one === name && known.includes(other)) ||
    (name === 'reasoning' && typeof objectOf(body.reasoning).effort === 'string');
  return Object.keys(body).filter(
    (name) => !known.includes(name) && !OURS.has(name) && !isSaidOtherwise(name),
  );
}
