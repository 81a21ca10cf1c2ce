import { Aliases, type AliasNames, type AliasSource, BUILTIN_ALIASES } from '../../src/http/aliases.ts';

/** Aliases that stay as they are; the built-in ones unless others are given. */
export function fixedAliases(names: AliasNames = BUILTIN_ALIASES): AliasSource {
  const aliases = new Aliases(names);
  return { current: () => aliases };
}
