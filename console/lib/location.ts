import { useCallback } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';

/** Path of the console as the browser sees it, with a slash at the end: `/console/`, `/tollgate/console/`. */
export const BASE = new URL(document.baseURI).pathname;
/** Path of the service in front of `/api` and `/openapi.json`: `/`, `/tollgate/`. */
export const SERVICE = BASE.replace(/console\/$/, '');

/** The path of a page of the console. */
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

/** Whether an address is of the operators' part, which has a sign-in of its own. */
export function isOperators(path: string = window.location.pathname): boolean {
  return path === to('operator') || path.startsWith(to('operator/'));
}

/** A member of the page's address: what is chosen survives reload, Back and being pasted elsewhere. */
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
