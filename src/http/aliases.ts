/** Other names under which clients written for other services find ours. */
export interface AliasNames {
  /**
   * Path → path of a route, e.g. `/v1/messages` → `/vendorx/v1/messages`. A name that ends in `/*` stands for every path below it; so
   * does its target.
   */
  readonly paths: Readonly<Record<string, string>>;
  /** Header of the request → header that the routes know, lower case, e.g. `anthropic-version` → `vendorx-version`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Names that a file may add to, change, or turn off with null. */
export interface AliasOverrides {
  readonly paths: Readonly<Record<string, string | null>>;
  readonly headers: Readonly<Record<string, string | null>>;
}

/**
 * What the base URLs of OpenAI's, Anthropic's, OpenRouter's and Novita's clients lead to: `…/v1`, the bare host, `…/api` and
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

/** What clients add to their base URL, and the path that it must have for that; the first that fits counts. */
const CLIENT_PATHS: readonly (readonly [tail: RegExp, base: string])[] = [
  [/\/v1\/messages(\/count_tokens)?$/, ''],
  [/\/messages(\/count_tokens)?$/, '/v1'],
  [/\/(chat\/completions|responses|embeddings|rerank|images\/generations|models(\/.+)?)$/, '/api/v1'],
];

/** What to say of a path that is not there: the base URL that its client wants, or nothing where nobody knows. */
export function baseUrlAdvice(path: string, isAnthropic: boolean): string {
  const [, known] = CLIENT_PATHS.find(([tail]) => tail.test(path)) ?? [];
  const base = known === '/api/v1' && isAnthropic ? '' : known;
  if (base === undefined) {
    return '';
  }
  const wanted = base === '' ? 'alone, without a path' : `and ${base}`;
  return `; the base URL of this client must be the address of this service ${wanted}`;
}

/** The built-in names with a file's changes. */
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

/** Aliases made ready to be asked at every request. */
export class Aliases {
  readonly names: AliasNames;
  readonly headers: readonly (readonly [string, string])[];
  readonly #exact: ReadonlyMap<string, string>;
  /** Longest first, without the star: the most special name wins. */
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

  /** The path that `path` is another name of; itself when it is none. */
  resolve(path: string): string {
    const exact = this.#exact.get(path);
    if (exact !== undefined) {
      return exact;
    }
    const prefix = this.#prefixes.find(([alias]) => path.startsWith(alias));
    return prefix ? prefix[1] + path.slice(prefix[0].length) : path;
  }
}

/** The aliases in force, which may change while the process runs. */
export interface AliasSource {
  current(): Aliases;
}

/**
 * What is wrong with the first alias that leads nowhere or hides a route; undefined when none does. The built-in names are right by
 * themselves: a process that serves only a part of the routes has them too.
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
    return 'either both paths end in /* or none';
  }
  if (paths.has(alias)) {
    return 'the path is taken';
  }
  const leads = path.endsWith('/*')
    ? [...paths].some((route) => route.startsWith(path.slice(0, -1)))
    : paths.has(path);
  return leads ? undefined : `there is no route ${path}`;
}
