import type { Response } from 'express';

/** The cookies of the operator pages. */
export const COOKIES = {
  session: 'tollgate_operator',
  /** Binds the open login form to its browser, before there is a session. */
  login: 'tollgate_login',
  /** Read by the board's script, which returns it in the header `x-xsrf-token`. */
  proof: 'XSRF-TOKEN',
} as const;

export interface CookieSettings {
  /** Path below which the cookies are sent, e.g. `/admin`. */
  readonly path: string;
  /** Only over https. */
  readonly secure: boolean;
}

/** Sets a cookie that is never sent on requests from other sites. `maxAgeSeconds` 0 deletes it. */
export function writeCookie(
  response: Response,
  settings: CookieSettings,
  cookie: {
    readonly name: string;
    readonly value: string;
    readonly maxAgeSeconds: number;
    readonly readableByScript?: boolean;
  },
): void {
  const attributes = [
    `${cookie.name}=${cookie.value}`,
    `Path=${settings.path}`,
    `Max-Age=${cookie.maxAgeSeconds}`,
    'SameSite=Strict',
    ...(cookie.readableByScript ? [] : ['HttpOnly']),
    ...(settings.secure ? ['Secure'] : []),
  ];
  response.appendHeader('Set-Cookie', attributes.join('; '));
}
