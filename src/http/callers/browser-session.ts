import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../lib/errors.ts';
import { readCookie } from './credential.ts';

/** Session of a browser that signed in with a key, identified by its cookie. Times in Unix ms. */
export interface BrowserSession {
  /** UUID. */
  readonly id: string;
  readonly accountId: string;
  /** Hash of the key shown at sign-in; its principal is the session's. */
  readonly keyHash: string;
  readonly createdAtMs: number;
  /** When the person last proved who they are. */
  readonly provenAtMs: number;
  readonly endsAtMs: number;
}

/** Finds sessions by cookie. */
export interface BrowserSessions {
  readonly cookieName: string;
  /** Returns the live session of a cookie's value; undefined when there is none. */
  find(token: string): Promise<BrowserSession | undefined>;
}

/** Sessions of operators who signed in on the operator pages. */
export interface OperatorBrowsers {
  /**
   * Returns the name of the operator whose session a request shows; undefined when it shows none. Rejects with AppError csrf_rejected for
   * a request that a page of another site made, or that changes something without the proof that only our own pages can read.
   */
  operatorOf(headers: IncomingHttpHeaders, method: string): Promise<string | undefined>;
}

/** A session together with the secret of its cookie. */
export interface PresentedSession extends BrowserSession {
  readonly token: string;
}

/** Time after a proof of identity in which creating or destroying access needs no second sign-in, in ms. */
export const RECENT_LOGIN_MS = 15 * 60_000;

const SAFE_METHODS = ['get', 'head'];

/**
 * Returns the session of a request's cookie. The cookie counts only when no key is sent, so a program's key is never confused with a
 * browser's session. Throws AppError csrf_rejected for a request that a page of another site made, or that changes something without the
 * proof that only our own pages can read.
 */
export async function presentedSession(
  sessions: BrowserSessions,
  headers: IncomingHttpHeaders,
  method: string,
): Promise<PresentedSession | undefined> {
  if (headers.authorization !== undefined || headers['x-api-key'] !== undefined) {
    return undefined;
  }
  const token = readCookie(headers, sessions.cookieName);
  if (token === undefined || token === '') {
    return undefined;
  }
  refuseForeignPage(headers);
  const session = await sessions.find(token);
  if (!session) {
    return undefined;
  }
  if (!SAFE_METHODS.includes(method) && !isProof(token, headers['x-csrf-token'])) {
    throw new AppError('csrf_rejected', 'x-csrf-token: must be the csrf member of GET /api/v1/session');
  }
  return { ...session, token };
}

/** Throws AppError csrf_rejected for a request made by a page of another site. */
export function refuseForeignPage(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new AppError('csrf_rejected', 'the request does not come from a page of this service');
  }
}

/**
 * Returns the proof that a request must send beside its cookie to change something. Derived from the cookie, which no script can read.
 */
export function csrfProof(token: string): string {
  return createHmac('sha256', token).update('tollgate console csrf').digest('base64url');
}

function isProof(token: string, proof: unknown): boolean {
  const [expected, given] = [Buffer.from(csrfProof(token)), Buffer.from(String(proof))];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
