import type { Response } from 'express';

/** The cookies of the operator pages. */
export const COOKIES = {
  session: 'tollgate_operator',
  /** Names the login form that is open, before there is a session. */
  login: 'tollgate_login',
  /** Read by the board's script, which sends it back as the header `x-xsrf-token`. */
  proof: 'XSRF-TOKEN',
} as const;

export interface CookieSettings {
  /** Path below which the cookies are sent, e.g. `/admin`. */
  readonly path: string;
  /** Only over https. */
  readonly secure: boolean;
}

/** Sets a cookie that no other site can send; `maxAgeSeconds` 0 takes it away. */
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
