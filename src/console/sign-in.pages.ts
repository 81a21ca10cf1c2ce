import { type Request, type Response, Router } from 'express';
import { readCookie } from '../http/callers/credential.ts';
import { FailureLimiter } from '../http/callers/failure-limiter.ts';
import { exchangeOf } from '../http/exchange.ts';
import type { AnswerCipher } from '../http/idempotency/answer-cipher.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { MembersService, NotAdmitted } from './members.service.ts';
import type { Identity, OpenIdProvider, SignInChecks } from './openid-provider.ts';
import type { SessionsService } from './sessions.service.ts';
import { SignInFailure } from './sign-in-failure.ts';

export interface SignInParts {
  readonly provider: Pick<OpenIdProvider, 'begin' | 'finish'>;
  readonly members: Pick<MembersService, 'admit'>;
  readonly sessions: Pick<SessionsService, 'openFor' | 'cookie'>;
  /** Opens a session of the operator pages for a person whom the provider's claim makes an operator. */
  readonly admitOperator: (name: string, request: Request, response: Response) => Promise<void>;
  readonly cipher: AnswerCipher;
  readonly record: (entry: SignInRecord) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Path of the console as browsers see it: `/console`, `/tollgate/console`. */
  readonly base: string;
  /** Whether browsers reach the service over https. */
  readonly secure: boolean;
}

/** A sign-in as the audit log records it. */
export interface SignInRecord {
  readonly email: string;
  /** Public ids. */
  readonly account: string;
  readonly member: string;
  readonly requestId: string;
  readonly address: string;
}

/** A sign-in that waits for the provider's response. */
interface Pending extends SignInChecks {
  /** Unix ms. */
  readonly begunAt: number;
  readonly next: string;
  readonly asOperator: boolean;
  readonly invitation?: string | undefined;
  readonly account?: string | undefined;
}

/** Why there is no session. The sign-in page explains it in the viewer's language. */
type Problem = NotAdmitted | SignInFailure['reason'] | 'not_an_operator' | 'expired' | 'too_many';

/** Problems that claims from the userinfo endpoint might have solved. */
const TOLD_THERE: ReadonlySet<Problem> = new Set(['email_not_verified', 'not_an_operator']);
const COOKIE = 'tollgate_sign_in';
/** Sign-ins that a browser may have begun in several tabs: each has a cookie of its own, chosen by its state. */
const COOKIES_MAX = 8;
const BINDING = 'console sign-in';
/** Time to sign in at the provider, in seconds. */
const PENDING_SECONDS = 600;
/** Failed sign-ins allowed per address and minute: each has caused requests to the provider. */
const FAILURES_PER_MINUTE = 20;
/** Console pages that a sign-in may lead to, with what is chosen on them; anything else would be an open redirect. */
const NEXT_PATTERN = /^[a-z][\w/-]{0,150}(?:\?[\w%&=+*.,:;/@~!$()?-]{0,600})?$/;
const OPERATORS_PATTERN = /^operator(?:[/?]|$)/;
const TOKEN_PATTERN = /^[\w-]{43}$/;
const ACCOUNT_PATTERN = /^acc_\w{26}$/;

/** `/console/oidc/start` sends a browser to the OpenID provider, `/console/oidc/callback` receives it back and signs it in. */
export function signInPages(parts: SignInParts): Router {
  const failures = new FailureLimiter(FAILURES_PER_MINUTE, parts.clock);
  const router = Router({ strict: true, caseSensitive: true });
  router.get('/start', (request, response) =>
    named('/console/oidc/start', response, () => start(parts, request, response)),
  );
  router.get('/callback', (request, response) =>
    named('/console/oidc/callback', response, () => finish(parts, failures, request, response)),
  );
  router.use(() => {
    throw new AppError('route_not_found', 'there is no such sign-in page');
  });
  return router;
}

/** Names the request for the log and the metrics. Its URL contains secrets. */
function named(route: string, response: Response, handle: () => Promise<void>): Promise<void> {
  const exchange = exchangeOf(response);
  if (exchange) {
    exchange.route = route;
  }
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  return handle();
}

async function start(parts: SignInParts, request: Request, response: Response): Promise<void> {
  const { provider, clock } = parts;
  const wish = {
    next: matching(request.query.next, NEXT_PATTERN) ?? '',
    invitation: matching(request.query.invitation, TOKEN_PATTERN),
    account: matching(request.query.account, ACCOUNT_PATTERN),
    asOperator: request.query.as === 'operator',
  };
  try {
    const { url, checks } = await provider.begin(request.query.again === 'yes');
    keep(parts, response, { ...checks, ...wish, begunAt: clock.now() });
    response.redirect(303, url.href);
  } catch (error) {
    redirectWithProblem(parts, response, problemOf(parts, error), wish.invitation);
  }
}

async function finish(
  parts: SignInParts,
  failures: FailureLimiter,
  request: Request,
  response: Response,
): Promise<void> {
  const pending = pendingOf(parts, request);
  const address = request.ip ?? '';
  if (!pending) {
    return redirectWithProblem(parts, response, 'expired');
  }
  forget(parts, response, pending);
  if (failures.retryAfterSeconds(address) > 0) {
    return redirectWithProblem(parts, response, 'too_many', pending.invitation);
  }
  try {
    const query = request.originalUrl.slice(request.originalUrl.indexOf('?'));
    const identity = await parts.provider.finish(query, pending);
    const { untold } = identity;
    if (untold) {
      const message =
        "the OpenID provider's userinfo endpoint failed: only its ID token counts for a sign-in";
      parts.log.warn({ reason: untold.reason, words: untold.words }, message);
    }
    const problem = await (pending.asOperator
      ? admitOperator(parts, identity, pending, request, response)
      : admitMember(parts, identity, pending, request, response));
    if (problem !== undefined) {
      failures.recordFailure(address);
      const cause = untold && TOLD_THERE.has(problem) ? untold.reason : problem;
      redirectWithProblem(parts, response, cause, pending.invitation);
    }
  } catch (error) {
    const problem = problemOf(parts, error);
    failures.recordFailure(address);
    redirectWithProblem(parts, response, problem, pending.invitation);
  }
}

/**
 * Opens an operator session and redirects to the operators' part of the console. The requests of that page send the cookie; this redirect
 * by the provider would not.
 */
async function admitOperator(
  parts: SignInParts,
  { isOperator, operatorValues, email, subject }: Identity,
  { next }: Pending,
  request: Request,
  response: Response,
): Promise<Problem | undefined> {
  if (!isOperator) {
    const message =
      operatorValues === undefined
        ? 'someone is no operator: the OpenID provider did not send the claim OIDC_OPERATOR_CLAIM'
        : 'someone is no operator: OIDC_OPERATOR_VALUE is not among the values of the claim';
    parts.log.warn({ values: operatorValues }, message);
    return 'not_an_operator';
  }
  // names of operators with a token cannot contain `@` or `:`
  await parts.admitOperator(email || `oidc:${subject}`, request, response);
  response.redirect(303, `${parts.base}/${OPERATORS_PATTERN.test(next) ? next : 'operator'}`);
  return undefined;
}

async function admitMember(
  parts: SignInParts,
  identity: Identity,
  pending: Pending,
  request: Request,
  response: Response,
): Promise<Problem | undefined> {
  const address = request.ip ?? '';
  const requestId = String(response.getHeader('x-request-id'));
  const member = await parts.members.admit(identity, pending, requestId);
  if (typeof member === 'string') {
    return member;
  }
  const [account, id] = [publicId('account', member.account_id), publicId('member', member.id)];
  await parts.record({ email: member.email, account, member: id, requestId, address });
  const { session } = await parts.sessions.openFor(
    member.key_hash,
    request.headers,
    address,
    identity.provenAt,
  );
  response.appendHeader('Set-Cookie', parts.sessions.cookie(session));
  response.redirect(303, `${parts.base}/${pending.next}`);
  return undefined;
}

/** Returns the problem that the sign-in page reports. Rethrows errors that are not failures of the provider. */
function problemOf({ log }: SignInParts, error: unknown): Problem {
  if (!(error instanceof SignInFailure)) {
    throw error;
  }
  log.warn({ reason: error.reason, words: error.words }, 'a sign-in with the OpenID provider failed');
  return error.reason;
}

function redirectWithProblem(
  { base }: SignInParts,
  response: Response,
  problem: Problem,
  invitation?: string,
): void {
  const query = new URLSearchParams({ problem, ...(invitation !== undefined && { invitation }) });
  response.redirect(303, `${base}/sign-in?${query}`);
}

/**
 * Keeps a pending sign-in in a cookie. It is Lax because the provider's page leads back here; it works for one sign-in only, and only
 * with the provider's response.
 */
function keep(parts: SignInParts, response: Response, pending: Pending): void {
  const sealed = parts.cipher.seal(JSON.stringify(pending), BINDING).toString('base64url');
  response.appendHeader('Set-Cookie', cookieText(parts, cookieFor(pending.state), sealed, PENDING_SECONDS));
}

function forget(parts: SignInParts, response: Response, { state }: Pending): void {
  response.appendHeader('Set-Cookie', cookieText(parts, cookieFor(state), '', 0));
}

/** Returns the name of the cookie that keeps a pending sign-in, by the state that the provider sends back. */
function cookieFor(state: string): string {
  return `${COOKIE}_${(state.codePointAt(0) ?? 0) % COOKIES_MAX}`;
}

function cookieText({ base, secure }: SignInParts, name: string, value: string, seconds: number): string {
  const attributes = [`Path=${base}/oidc`, `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax'];
  return [`${name}=${value}`, ...attributes, ...(secure ? ['Secure'] : [])].join('; ');
}

/** Returns the sign-in that the provider's response belongs to, if this browser began it. */
function pendingOf({ cipher, clock }: SignInParts, request: Request): Pending | undefined {
  const { state } = request.query;
  const sealed = typeof state === 'string' ? readCookie(request.headers, cookieFor(state)) : undefined;
  const plain = cipher.open(Buffer.from(sealed ?? '', 'base64url'), BINDING);
  const pending = plain === undefined ? undefined : (JSON.parse(plain) as Pending);
  const isCurrent =
    pending !== undefined &&
    pending.state === state &&
    clock.now() - pending.begunAt < PENDING_SECONDS * 1_000;
  return isCurrent ? pending : undefined;
}

function matching(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? value : undefined;
}
