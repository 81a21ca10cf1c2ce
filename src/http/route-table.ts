import type { Route } from './route.ts';

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

/** `/a/{b}` → `/a/:b`; `/a/{b+}` → `/a/*b`. */
function expressPattern(path: string): string {
  return path.replace(/\{(\w+)\+\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}
