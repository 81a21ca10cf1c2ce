import type { Aliases, AliasSource } from '../../src/http/route-table.ts';

/** Aliases that stay as they are; none unless given. */
export function fixedAliases(aliases: Aliases = { paths: {}, headers: {} }): AliasSource {
  return {
    current: () => aliases,
    addCheck: (mistakeOf) => {
      const mistake = mistakeOf(aliases);
      if (mistake !== undefined) {
        throw new Error(mistake);
      }
    },
  };
}
