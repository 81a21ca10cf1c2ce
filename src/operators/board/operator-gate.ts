import type { IncomingHttpHeaders } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Authenticator } from '../../http/callers/authenticator.ts';
import { type OperatorBrowsers, refuseForeignPage } from '../../http/callers/browser-session.ts';
import { readCookie } from '../../http/callers/credential.ts';
import { AppError } from '../../lib/errors.ts';
import { COOKIES, type CookieSettings, writeCookie } from './operator-cookies.ts';
import { type OperatorSessions, SESSION_SECONDS } from './operator-session.ts';

export interface OperatorGateParts {
  readonly authenticator: Pick<Authenticator, 'operator'>;
  readonly sessions: OperatorSessions;
  readonly cookies: CookieSettings;
  /** Path of the operator pages as browsers see it, e.g. `/admin`. */
  readonly base: string;
}

const SAFE_METHODS = ['GET', 'HEAD'];
const OPERATOR = 'operator';

/**
 * Authenticates operators by bearer token or by session cookie. Browsers send the cookie whichever site makes the request, so
 * requests that change something must also carry a CSRF token, which only our own pages can read.
 */
export function operatorGate(parts: OperatorGateParts): RequestHandler {
  return async (request, response, next) => {
    if (request.headers.authorization !== undefined || request.headers['x-api-key'] !== undefined) {
      setOperator(response, parts.authenticator.operator(request.headers, request.ip ?? ''));
      next();
      return;
    }
    const session = readCookie(request.headers, COOKIES.session);
    const operator = await parts.sessions.operatorOf(session);
    if (session === undefined || operator === undefined) {
      refuse(request, response, parts.base);
      return;
    }
    if (SAFE_METHODS.includes(request.method)) {
      offerCsrfToken(request, response, parts, session);
    } else {
      requireCsrfToken(parts.sessions, session, request.headers, headerOf(request.headers, 'x-xsrf-token'));
    }
    setOperator(response, operator);
    next();
  };
}

/** Returns the name of the operator who passed the gate. */
export function operatorOf(response: Response): string {
  return String(response.locals[OPERATOR]);
}

function setOperator(response: Response, name: string): void {
  response.locals[OPERATOR] = name;
}

/** Throws AppError csrf_rejected unless the request comes from our own pages and carries the CSRF token of its cookie. */
export function requireCsrfToken(
  sessions: OperatorSessions,
  cookie: string | undefined,
  headers: IncomingHttpHeaders,
  proof: string | undefined,
): void {
  const site = headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin';
  if (isForeign || cookie === undefined || !sessions.isProof(cookie, proof)) {
    throw new AppError(
      'csrf_rejected',
      'The request does not come from a page of this service. Reload the page and try again.',
    );
  }
}

/**
 * The same sessions for the operator API: the console authenticates with the cookie of the operator pages. The cookie is ignored
 * when a token is sent.
 */
export function operatorBrowsers(sessions: OperatorSessions): OperatorBrowsers {
  return {
    async operatorOf(headers, method) {
      if (headers.authorization !== undefined || headers['x-api-key'] !== undefined) {
        return undefined;
      }
      const session = readCookie(headers, COOKIES.session);
      const operator = await sessions.operatorOf(session);
      if (operator === undefined) {
        return undefined;
      }
      if (SAFE_METHODS.includes(method.toUpperCase())) {
        refuseForeignPage(headers);
      } else {
        requireCsrfToken(sessions, session, headers, headerOf(headers, 'x-csrf-token'));
      }
      return operator;
    },
  };
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const proof = headers[name];
  return typeof proof === 'string' ? proof : undefined;
}

function offerCsrfToken(
  request: Request,
  response: Response,
  { sessions, cookies }: OperatorGateParts,
  session: string,
): void {
  const proof = sessions.csrfTokenFor(session);
  if (readCookie(request.headers, COOKIES.proof) !== proof) {
    writeCookie(response, cookies, {
      name: COOKIES.proof,
      value: proof,
      maxAgeSeconds: SESSION_SECONDS,
      readableByScript: true,
    });
  }
}

/** Redirects people to the login page; answers programs with an error. */
function refuse(request: Request, response: Response, base: string): void {
  const wantsPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
  if (!wantsPage) {
    throw new AppError(
      'missing_api_key',
      'Sign in, or send the operator token as "Authorization: Bearer <token>".',
    );
  }
  const next = encodeURIComponent((request.baseUrl + request.path).replace(/^\/admin/, ''));
  response.setHeader('Cache-Control', 'no-store');
  response.redirect(303, `${base}/login?next=${next}`);
}
