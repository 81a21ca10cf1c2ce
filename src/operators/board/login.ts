import type { Request, Response } from 'express';
import { readCookie } from '../../http/callers/credential.ts';
import { readRequestBody } from '../../http/input/request-body.ts';
import { AppError } from '../../lib/errors.ts';
import type { AuditStore } from '../audit.store.ts';
import { type LoginForm, loginPage, logoutPage } from './login-page.ts';
import { COOKIES, writeCookie } from './operator-cookies.ts';
import { type OperatorGateParts, requireCsrfToken } from './operator-gate.ts';
import { SESSION_SECONDS } from './operator-session.ts';
import { sendOperatorPage } from './page-frame.ts';

export interface LoginParts extends OperatorGateParts {
  readonly audit: Pick<AuditStore, 'append'>;
  /** The OpenID provider that operators may sign in with, as labeled on its button; undefined when only tokens are accepted. */
  readonly signInBy: string | undefined;
}

const FORM_BYTES_MAX = 4_096;
/** Maximum age of a login form, in seconds. */
const FORM_SECONDS = 3_600;
const START = '/queues';
/** Pages below the operator pages that a login may lead to. Anything else would be an open redirect. */
const NEXT_PATTERN = /^\/(?:queues|queues-rw|tasks)(?:\/[\w.:-]{1,150}){0,4}\/?$/;
/** Pages of the console's operator section, which is served beside the operator pages, with what is chosen on them. */
const CONSOLE_PATTERN = /^\/console\/operator(?:\/[\w-]{1,64}){0,2}(?:\?[\w%&=+*.,:;/@~!$()?-]{0,600})?$/;

/** Shows the login form, or redirects someone who has already signed in. */
export async function showLogin(parts: LoginParts, request: Request, response: Response): Promise<void> {
  const next = nextOf(request.query.next);
  if ((await parts.sessions.operatorOf(readCookie(request.headers, COOKIES.session))) !== undefined) {
    response.redirect(303, addressOf(parts.base, next));
    return;
  }
  sendForm(parts, response, { next });
}

/** Handles the login form and opens a session for a valid token. Wrong tokens count against the address, as wrong API keys do. */
export async function signIn(parts: LoginParts, request: Request, response: Response): Promise<void> {
  const form = await readForm(request);
  const next = nextOf(form.get('next'));
  let operator: string;
  try {
    requireCsrfToken(
      parts.sessions,
      readCookie(request.headers, COOKIES.login),
      request.headers,
      form.get('proof') ?? undefined,
    );
    const headers = { authorization: `Bearer ${form.get('token') ?? ''}` };
    operator = parts.authenticator.operator(headers, request.ip ?? '');
  } catch (error) {
    if (!(error instanceof AppError)) {
      throw error;
    }
    sendForm(parts, response, { next, problem: problemOf(error), status: error.status });
    return;
  }
  await record(parts, operator, 'operator.login', request, response);
  const session = parts.sessions.issue(operator);
  setSession(parts, response, session, parts.sessions.csrfTokenFor(session), SESSION_SECONDS);
  writeCookie(response, parts.cookies, { name: COOKIES.login, value: '', maxAgeSeconds: 0 });
  response.redirect(303, addressOf(parts.base, next));
}

/** Opens a session for someone who signed in with the OpenID provider. */
export async function admitClaimed(
  parts: LoginParts,
  operator: string,
  request: Request,
  response: Response,
): Promise<void> {
  await record(parts, operator, 'operator.login', request, response);
  const agent = request.headers['user-agent'] ?? '';
  const session = await parts.sessions.claimed.issue(operator, SESSION_SECONDS, agent, request.ip ?? '');
  setSession(parts, response, session, parts.sessions.csrfTokenFor(session), SESSION_SECONDS);
}

/** Shows the page that asks for confirmation to sign out. */
export function showLogout(parts: LoginParts, request: Request, response: Response): void {
  const session = readCookie(request.headers, COOKIES.session) ?? '';
  sendOperatorPage(response, logoutPage(parts.base, parts.sessions.csrfTokenFor(session)));
}

/** Ends the session of this browser. Throws AppError csrf_rejected. */
export async function signOut(parts: LoginParts, request: Request, response: Response): Promise<void> {
  const form = await readForm(request);
  const session = readCookie(request.headers, COOKIES.session);
  requireCsrfToken(parts.sessions, session, request.headers, form.get('proof') ?? undefined);
  const operator = await parts.sessions.operatorOf(session);
  if (session !== undefined && operator !== undefined) {
    await record(parts, operator, 'operator.logout', request, response);
    await parts.sessions.claimed.signOut(session);
  }
  setSession(parts, response, '', '', 0);
  response.redirect(303, `${parts.base}/login`);
}

function sendForm(
  parts: LoginParts,
  response: Response,
  form: Pick<LoginForm, 'next' | 'problem' | 'status'>,
): void {
  const { base, sessions, cookies, signInBy } = parts;
  const nonce = sessions.nonce();
  writeCookie(response, cookies, { name: COOKIES.login, value: nonce, maxAgeSeconds: FORM_SECONDS });
  sendOperatorPage(response, loginPage({ ...form, base, signInBy, proof: sessions.csrfTokenFor(nonce) }));
}

function setSession(
  { cookies }: LoginParts,
  response: Response,
  session: string,
  proof: string,
  maxAgeSeconds: number,
): void {
  writeCookie(response, cookies, { name: COOKIES.session, value: session, maxAgeSeconds });
  writeCookie(response, cookies, {
    name: COOKIES.proof,
    value: proof,
    maxAgeSeconds,
    readableByScript: true,
  });
}

async function readForm(request: Request): Promise<URLSearchParams> {
  return new URLSearchParams((await readRequestBody(request, FORM_BYTES_MAX)).toString('utf8'));
}

function nextOf(value: unknown): string {
  const isOurs = typeof value === 'string' && (NEXT_PATTERN.test(value) || CONSOLE_PATTERN.test(value));
  return isOurs ? value : START;
}

function addressOf(base: string, next: string): string {
  return CONSOLE_PATTERN.test(next) ? base.replace(/\/admin$/, '') + next : base + next;
}

function problemOf(error: AppError): string {
  if (error.code === 'csrf_rejected') {
    return 'The form has expired, or cookies are disabled. Try again.';
  }
  return error.status === 429
    ? `Too many invalid tokens from this address. Try again in ${error.retryAfterSeconds ?? 60} seconds.`
    : 'That is not a valid operator token.';
}

function record(
  parts: LoginParts,
  operator: string,
  action: string,
  request: Request,
  response: Response,
): Promise<void> {
  return parts.audit.append({
    operator,
    action,
    object: 'operator pages',
    requestId: String(response.getHeader('x-request-id')),
    detail: { address: request.ip ?? '' },
  });
}
