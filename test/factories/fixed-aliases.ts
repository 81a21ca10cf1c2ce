import { Aliases, type AliasNames, type AliasSource, BUILTIN_ALIASES } from '../../src/http/aliases.ts';

/** Returns aliases that never change; the built-in ones by default. */
export function fixedAliases(names: AliasNames = BUILTIN_ALIASES): AliasSource {
  const aliases = new Aliases(names);
  return { current: () => aliases };
}
