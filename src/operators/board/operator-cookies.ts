import type { Request, Response } from 'express';

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

/** A cookie's value; undefined when the request has none of that name. */
export function readCookie(request: Request, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, ...value] = part.trim().split('=');
    if (key === name) {
      return value.join('=');
    }
  }
  return undefined;
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
