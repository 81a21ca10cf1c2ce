import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../lib/errors.ts';
import { readCookie } from './credential.ts';

/** A browser that signed in with a key: what its cookie stands for. Times in Unix ms. */
export interface BrowserSession {
  /** UUID. */
  readonly id: string;
  readonly accountId: string;
  /** Of the key that was shown at sign-in; its principal is the session's. */
  readonly keyHash: string;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
}

/** Where sessions are found. */
export interface BrowserSessions {
  readonly cookieName: string;
  /** The live session of a cookie's value; undefined when there is none. */
  find(token: string): Promise<BrowserSession | undefined>;
}

/** Browsers whose operators signed in on the operator pages. */
export interface OperatorBrowsers {
  /**
   * Name of the operator whose session a request shows; undefined where it shows none. Rejects with AppError csrf_rejected for a request that
   * another site's page made, or that changes something without the proof that only our own page can read.
   */
  operatorOf(headers: IncomingHttpHeaders, method: string): Promise<string | undefined>;
}

/** A session together with the secret of its cookie. */
export interface PresentedSession extends BrowserSession {
  readonly token: string;
}

/** How long after signing in acts that make or destroy access need no second sign-in, in ms. */
export const RECENT_LOGIN_MS = 15 * 60_000;

const SAFE_METHODS = ['get', 'head'];

/**
 * The session that a request's cookie names. A cookie counts only where no key is sent: a program's key is never mixed up with a
 * browser's session. Throws AppError csrf_rejected for a request that another site's page made, or that changes something without
 * the proof that only our own page can read.
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

/** Throws AppError csrf_rejected for a request that a page of another site makes. */
export function refuseForeignPage(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new AppError('csrf_rejected', 'the request does not come from a page of this service');
  }
}

/** What a request that changes something shows beside its cookie. Made of the cookie, which no script can read. */
export function csrfProof(token: string): string {
  return createHmac('sha256', token).update('tollgate console csrf').digest('base64url');
}

function isProof(token: string, proof: unknown): boolean {
  const [expected, given] = [Buffer.from(csrfProof(token)), Buffer.from(String(proof))];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
