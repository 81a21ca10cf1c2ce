import { useCallback } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';

/** Path of the console as the browser sees it, with a trailing slash: `/console/`, `/tollgate/console/`. */
export const BASE = new URL(document.baseURI).pathname;
/** Path of the service before `/api` and `/openapi.json`: `/`, `/tollgate/`. */
export const SERVICE = BASE.replace(/console\/$/, '');

/** Returns the path of a console page. */
export function to(page: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') {
      parameters.set(name, value);
    }
  }
  const text = parameters.toString();
  return `${BASE}${page}${text === '' ? '' : `?${text}`}`;
}

/** Returns whether a path belongs to the operators' console, which has its own sign-in. */
export function isOperators(path: string = window.location.pathname): boolean {
  return path === to('operator') || path.startsWith(to('operator/'));
}

/** State kept in the page's URL, so that it survives reload, Back and copying the URL. */
export function useQueryState(
  name: string,
  initial: string,
): [string, (value: string, typing?: boolean) => void] {
  const { query, path, route } = useLocation();
  const value = query[name] ?? initial;
  const set = useCallback(
    (next: string, typing = false) => {
      const parameters = new URLSearchParams(window.location.search);
      if (next === initial || next === '') {
        parameters.delete(name);
      } else {
        parameters.set(name, next);
      }
      const text = parameters.toString();
      route(text === '' ? path : `${path}?${text}`, typing);
    },
    [name, initial, path, route],
  );
  return [value, set];
}
