import { AppError } from '../../lib/errors.ts';
import { publicId } from '../../lib/ids.ts';
import type { Exchange } from '../exchange.ts';
import type { RateCall, RateTicket } from '../limits/rate-limiter.ts';
import type { RequestPipeline } from '../request-pipeline.ts';
import type { Principal, Route } from '../route.ts';
import { type PresentedSession, presentedSession, RECENT_LOGIN_MS } from './browser-session.ts';
import { isRecorded, requireMemberRole } from './member-role.ts';
import type { WorkerIdentity } from './worker-authenticator.types.ts';

export interface AdmittedCaller {
  /** Undefined on public and operator routes. */
  readonly principal: Principal | undefined;
  /** The browser's session; undefined for a caller with a key. */
  readonly session: PresentedSession | undefined;
  /** Name of the operator, on operator routes. */
  readonly operator: string | undefined;
  /** The worker, on routes for workers. */
  readonly worker: WorkerIdentity | undefined;
  readonly reportTokens: (tokens: number) => void;
  /** Keeps the caller's concurrent place until the returned function is called, even if the response ends earlier. */
  readonly keepPlace: () => () => void;
}

const NOBODY: AdmittedCaller = {
  principal: undefined,
  session: undefined,
  operator: undefined,
  worker: undefined,
  reportTokens: () => undefined,
  keepPlace: () => () => undefined,
};

/** Number of browsers that may read as much as one may, before the browsers of an account share that: anyone with a key can sign in anew. */
const BROWSER_SHARES = 10;

/** Calls per minute that the workers of one token may make: enough for a few hundred slots with short runs. */
const WORKER_CALLS = { requestsPerMinute: 30_000, tokensPerMinute: 1, concurrency: 1 };

/** Authenticates and authorizes the caller by the matched route object itself, then counts the call toward its rate limits. */
export async function admitCaller(
  pipeline: RequestPipeline,
  route: Route,
  exchange: Exchange,
): Promise<AdmittedCaller> {
  const { request, response } = exchange;
  const address = request.ip ?? '';
  if (route.access === 'public') {
    return NOBODY;
  }
  if (route.access === 'operator') {
    const signedIn = await pipeline.operatorBrowsers.operatorOf(request.headers, route.method);
    const operator = signedIn ?? pipeline.authenticator.operator(request.headers, address);
    pipeline.onAuthenticatedConnection(request.socket);
    return { ...NOBODY, operator };
  }
  if (route.access === 'worker') {
    return await admitWorker(pipeline, exchange, address);
  }
  const { principal, session } = await identify(pipeline, route, exchange);
  exchange.facts.accountId = publicId('account', principal.accountId);
  exchange.facts.apiKeyHash = principal.keyHash;
  pipeline.onAuthenticated(principal);
  pipeline.onAuthenticatedConnection(request.socket);
  const ticket = await pipeline.rateLimiter.admit(
    {
      concurrent: route.access === 'inference' && route.method === 'post',
      bodyBytes: Number(request.headers['content-length'] ?? 0),
      isGone: () => response.destroyed,
      ...allowanceOf(route, principal, session),
    },
    (headers) => {
      for (const [name, value] of Object.entries(headers)) {
        response.setHeader(name, value);
      }
    },
  );
  const keepPlace = placeOf(ticket, exchange);
  requireRole(route, principal);
  requireRecentLogin(pipeline, route, session);
  await recordAct(pipeline, route, principal, exchange);
  const reportTokens = (tokens: number) => ticket.reportTokens(tokens);
  return { ...NOBODY, principal, session, reportTokens, keepPlace };
}

/** Finishes the ticket when the response has closed and nobody keeps its place. Returns how to keep it. */
function placeOf(ticket: RateTicket, { response }: Exchange): AdmittedCaller['keepPlace'] {
  let keepers = 1;
  const release = () => {
    keepers -= 1;
    if (keepers === 0) {
      ticket.finish();
    }
  };
  // a client that left during the call to Redis has already closed the response
  if (response.closed) {
    release();
  } else {
    response.once('close', release);
  }
  return () => {
    if (keepers === 0) {
      return () => undefined;
    }
    keepers += 1;
    return release;
  };
}

/**
 * Selects the rate limits that a call counts toward. Reads from a browser count per session and for all browsers of the account: viewing
 * pages uses up none of the requests that the account's programs may make, and limits of the key do not apply to pages.
 */
function allowanceOf(
  { method }: Route,
  { apiKeyId, accountId, rateLimits }: Principal,
  session: PresentedSession | undefined,
): Pick<RateCall, 'keyId' | 'accountId' | 'own' | 'accountShares'> {
  return session && method === 'get'
    ? {
        keyId: session.id,
        accountId: `sessions:${accountId}`,
        own: { key: null, account: null },
        accountShares: BROWSER_SHARES,
      }
    : { keyId: apiKeyId, accountId, own: rateLimits };
}

async function admitWorker(
  pipeline: RequestPipeline,
  { request, response }: Exchange,
  address: string,
): Promise<AdmittedCaller> {
  const worker = await pipeline.workers.identify(request.headers, address);
  pipeline.onAuthenticatedConnection(request.socket);
  const call = {
    keyId: worker.tokenId,
    accountId: `worker:${worker.tokenId}`,
    own: { key: null, account: WORKER_CALLS },
    concurrent: false,
    bodyBytes: 0,
    isGone: () => response.destroyed,
  };
  await pipeline.rateLimiter.admit(call, () => undefined);
  return { ...NOBODY, worker };
}

async function identify(
  { authenticator, sessions }: RequestPipeline,
  route: Route,
  { request }: Exchange,
): Promise<{ principal: Principal; session: PresentedSession | undefined }> {
  const isReading = route.method === 'get';
  const session = await presentedSession(sessions, request.headers, route.method);
  const principal = session
    ? await authenticator.principalOfKey(session.keyHash, isReading)
    : await authenticator.principal(request.headers, request.ip ?? '', isReading);
  return { principal, session };
}

/** Throws AppError login_too_old for an old sign-in: a browser left open must not be enough to create a key or lock its owner out. */
function requireRecentLogin(
  { clock }: RequestPipeline,
  route: Route,
  session: PresentedSession | undefined,
): void {
  if (session && route.recentLogin && clock.now() - session.provenAtMs > RECENT_LOGIN_MS) {
    throw new AppError('login_too_old', 'sign in again: this needs a sign-in within the last 15 minutes');
  }
}

function requireRole(route: Route, principal: Principal): void {
  if (principal.member) {
    requireMemberRole(route, principal.member);
  } else if (route.access === 'owner' && principal.role !== 'owner') {
    throw new AppError('insufficient_scope', 'this operation needs an owner key');
  }
}

/** Records the act before it is carried out, so that no change by a member is missing from the audit log. */
async function recordAct(
  pipeline: RequestPipeline,
  route: Route,
  { member, accountId }: Principal,
  { request, requestId }: Exchange,
): Promise<void> {
  if (member && isRecorded(route)) {
    const { operationId } = route;
    const [path = ''] = request.originalUrl.split('?');
    await pipeline.recordMemberAction({
      member,
      accountId,
      operationId,
      path,
      requestId,
      address: request.ip ?? '',
    });
  }
}
