/** Alternative paths and header names, so that clients written for other services find this one's routes. */
export interface AliasNames {
  /**
   * Path → path of a route, e.g. `/v1/messages` → `/vendorx/v1/messages`. A name that ends in `/*` covers every path below it, and so
   * does its target.
   */
  readonly paths: Readonly<Record<string, string>>;
  /** Request header → header that the routes read, in lower case, e.g. `anthropic-version` → `vendorx-version`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Changes that a file makes to the built-in aliases. A value of null disables the alias. */
export interface AliasOverrides {
  readonly paths: Readonly<Record<string, string | null>>;
  readonly headers: Readonly<Record<string, string | null>>;
}

/**
 * Aliases for the base URLs that clients of OpenAI, Anthropic, OpenRouter and Novita use: `…/v1`, the bare host, `…/api` and
 * `…/v3/openai`.
 */
export const BUILTIN_ALIASES: AliasNames = {
  paths: {
    '/v1/*': '/api/v1/*',
    '/v1/messages': '/vendorx/v1/messages',
    '/v1/messages/*': '/vendorx/v1/messages/*',
    '/v1/models': '/vendorx/v1/models',
    '/v1/models/*': '/vendorx/v1/models/*',
    '/api/v1/messages': '/vendorx/v1/messages',
    '/api/v1/messages/*': '/vendorx/v1/messages/*',
    '/v3/openai/*': '/api/v1/*',
  },
  headers: { 'anthropic-version': 'vendorx-version' },
};

/** Paths that clients append to their base URL, each with the path that base URL needs. The first match counts. */
const CLIENT_PATHS: readonly (readonly [tail: RegExp, base: string])[] = [
  [/\/v1\/messages(\/count_tokens)?$/, ''],
  [/\/messages(\/count_tokens)?$/, '/v1'],
  [
    /\/(chat\/completions|responses(\/input_tokens)?|embeddings|rerank|images\/generations|models(\/.+)?)$/,
    '/api/v1',
  ],
];

/** Returns advice for the error about an unknown path: the base URL that its client needs, or '' when the client is unknown. */
export function baseUrlAdvice(path: string, isAnthropic: boolean): string {
  const [, known] = CLIENT_PATHS.find(([tail]) => tail.test(path)) ?? [];
  const base = known === '/api/v1' && isAnthropic ? '' : known;
  if (base === undefined) {
    return '';
  }
  const wanted = base === '' ? 'alone, without a path' : `followed by ${base}`;
  return `; set the base URL of this client to the address of this service ${wanted}`;
}

/** Returns the built-in aliases with the changes of a file applied. */
export function withOverrides(overrides: AliasOverrides): AliasNames {
  return {
    paths: overridden(BUILTIN_ALIASES.paths, overrides.paths),
    headers: overridden(BUILTIN_ALIASES.headers, overrides.headers),
  };
}

function overridden(
  builtin: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const named = Object.entries({ ...builtin, ...changes });
  return Object.fromEntries(named.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Aliases indexed for a lookup on every request. */
export class Aliases {
  readonly names: AliasNames;
  readonly headers: readonly (readonly [string, string])[];
  readonly #exact: ReadonlyMap<string, string>;
  /** Longest first, without the star, so the most specific prefix wins. */
  readonly #prefixes: readonly (readonly [string, string])[];

  constructor(names: AliasNames) {
    const paths = Object.entries(names.paths);
    this.names = names;
    this.headers = Object.entries(names.headers);
    this.#exact = new Map(paths.filter(([alias]) => !alias.endsWith('/*')));
    this.#prefixes = paths
      .filter(([alias]) => alias.endsWith('/*'))
      .map(([alias, path]) => [alias.slice(0, -1), path.slice(0, -1)] as const)
      .sort(([one], [other]) => other.length - one.length);
  }

  /** Returns the path that `path` is an alias of, or `path` itself when it is not an alias. */
  resolve(path: string): string {
    const exact = this.#exact.get(path);
    if (exact !== undefined) {
      return exact;
    }
    const prefix = this.#prefixes.find(([alias]) => path.startsWith(alias));
    return prefix ? prefix[1] + path.slice(prefix[0].length) : path;
  }
}

/** Supplies the aliases in force, which may change while the process runs. */
export interface AliasSource {
  current(): Aliases;
}

/**
 * Describes the first alias that leads to no route or hides one; undefined when there is none. Built-in aliases are skipped: a process
 * that serves only some of the routes has them too.
 */
export function aliasMistake(routePaths: readonly string[], names: AliasNames): string | undefined {
  const paths = new Set(routePaths);
  for (const [alias, path] of Object.entries(names.paths)) {
    const mistake = BUILTIN_ALIASES.paths[alias] === path ? undefined : mistakeOfPath(paths, alias, path);
    if (mistake !== undefined) {
      return `aliases.paths: ${alias}: ${mistake}`;
    }
  }
  return undefined;
}

function mistakeOfPath(paths: ReadonlySet<string>, alias: string, path: string): string | undefined {
  if (alias.endsWith('/*') !== path.endsWith('/*')) {
    return 'both paths must end in /*, or neither';
  }
  if (paths.has(alias)) {
    return 'a route already uses this path';
  }
  const leads = path.endsWith('/*')
    ? [...paths].some((route) => route.startsWith(path.slice(0, -1)))
    : paths.has(path);
  return leads ? undefined : `there is no route ${path}`;
}
