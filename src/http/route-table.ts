import type { Route } from './route.ts';

/** Other names under which clients written for other services find ours. */
export interface Aliases {
  /** Path → path of a route, e.g. `/v1/messages` → `/vendorx/v1/messages`. */
  readonly paths: Readonly<Record<string, string>>;
  /** Header → header of ours, lower case, e.g. `anthropic-version` → `vendorx-version`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The aliases in force, which may change while the process runs. */
export interface AliasSource {
  current(): Aliases;
  /** Asks `mistakeOf` of those in force and of every later ones: what is wrong with them, if anything. Throws for those in force. */
  addCheck(mistakeOf: (aliases: Aliases) => string | undefined): void;
}

export interface TableEntry {
  /** The path as Express matches it. */
  readonly pattern: string;
  /** By upper-case HTTP method. */
  readonly methods: ReadonlyMap<string, Route>;
}

/**
 * The routes by path, so that a wrong method on a right path is told from a wrong path. Throws Error on two routes of the same method
 * and path.
 */
export function routeTable(routes: readonly Route[]): TableEntry[] {
  const byPath = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Map<string, Route>();
    const method = route.method.toUpperCase();
    if (methods.has(method)) {
      throw new Error(`two routes for ${method} ${route.path}`);
    }
    byPath.set(route.path, methods.set(method, route));
  }
  return [...byPath].map(([path, methods]) => ({ pattern: expressPattern(path), methods }));
}

/** What is wrong with the first alias that leads nowhere or hides a route; undefined when none does. */
export function aliasMistake(routes: readonly Pick<Route, 'path'>[], aliases: Aliases): string | undefined {
  const paths = new Set(routes.map(({ path }) => path));
  const wrong = Object.entries(aliases.paths).find(([alias, path]) => !paths.has(path) || paths.has(alias));
  if (!wrong) {
    return undefined;
  }
  const [alias, path] = wrong;
  return `aliases.paths: ${alias}: ${paths.has(path) ? 'the path is taken' : `there is no route ${path}`}`;
}

/** `/a/{b}` → `/a/:b`; `/a/{b+}` → `/a/*b`. */
function expressPattern(path: string): string {
  return path.replace(/\{(\w+)\+\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}
