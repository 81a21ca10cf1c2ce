import type { Route } from './route.ts';

/** Other names under which clients written for other services find ours. */
export interface Aliases {
  /** Path → path of a route, e.g. `/v1/messages` → `/vendorx/v1/messages`. */
  readonly paths: Readonly<Record<string, string>>;
  /** Header → header of ours, lower case, e.g. `anthropic-version` → `vendorx-version`. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface TableEntry {
  /** The path as Express matches it. */
  readonly pattern: string;
  /** By upper-case HTTP method. */
  readonly methods: ReadonlyMap<string, Route>;
}

/**
 * The routes by path, so that a wrong method on a right path is told from a wrong path. Throws Error on two routes of
 * the same method and path and on an alias of nothing: both are mistakes of ours or of the catalog.
 */
export function routeTable(routes: readonly Route[], aliases: Aliases): TableEntry[] {
  const byPath = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Map<string, Route>();
    const method = route.method.toUpperCase();
    if (methods.has(method)) {
      throw new Error(`two routes for ${method} ${route.path}`);
    }
    byPath.set(route.path, methods.set(method, route));
  }
  for (const [alias, path] of Object.entries(aliases.paths)) {
    const methods = byPath.get(path);
    if (!methods || byPath.has(alias)) {
      throw new Error(`alias ${alias}: ${methods ? 'the path is taken' : `there is no route ${path}`}`);
    }
    byPath.set(alias, methods);
  }
  return [...byPath].map(([path, methods]) => ({ pattern: expressPattern(path), methods }));
}

/** `/a/{b}` → `/a/:b`; `/a/{b+}` → `/a/*b`. */
function expressPattern(path: string): string {
  return path.replace(/\{(\w+)\+\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}
