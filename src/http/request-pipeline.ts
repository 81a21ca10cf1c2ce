import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import type { EventLoopQueue } from '../lib/event-loop-queue.ts';
import type { Logger } from '../lib/logger.ts';
import type { Authenticator } from './callers/authenticator.ts';
import type { BrowserSessions, OperatorBrowsers } from './callers/browser-session.ts';
import type { Member } from './callers/member-role.ts';
import type { WorkerAuthenticator } from './callers/worker-authenticator.types.ts';
import type { HttpMetrics } from './http-metrics.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { BodyBytes } from './input/body-bytes.ts';
import type { RateLimiter } from './limits/rate-limiter.ts';
import type { Principal } from './route.ts';

/** A member's request that changes something. */
export interface MemberAction {
  readonly member: Member;
  readonly accountId: string;
  readonly operationId: string;
  readonly path: string;
  readonly requestId: string;
  /** Address of the client. */
  readonly address: string;
}

/** The services that every route runs on. The pipeline knows no feature: all of them are passed in. */
export interface RequestPipeline {
  readonly authenticator: Authenticator;
  /** Sessions of browsers that signed in to the console. */
  readonly sessions: BrowserSessions;
  /** Sessions of browsers that signed in to the operator pages. */
  readonly operatorBrowsers: OperatorBrowsers;
  /** Authenticates workers on hosts without a database. */
  readonly workers: WorkerAuthenticator;
  readonly rateLimiter: RateLimiter;
  readonly idempotency: Idempotency;
  readonly metrics: HttpMetrics;
  readonly log: Logger;
  /** Supplies the time in the ids of new records. */
  readonly clock: Clock;
  readonly bodyBytes: BodyBytes;
  /** Queues the work on long bodies. */
  readonly loopQueue: EventLoopQueue;
  /** Throws AppError insufficient_credits or key_limit_exceeded when a caller has nothing to spend and every model costs something. */
  readonly requireFunds: (principal: Principal) => Promise<void>;
  /** Called for every authenticated request; must be cheap and must not throw. */
  readonly onAuthenticated: (principal: Principal) => void;
  /** Writes what a member is about to do into the audit log. When it rejects, the request is not carried out. */
  readonly recordMemberAction: (act: MemberAction) => Promise<void>;
  /** Called for every connection on which a valid key, session or operator token arrived; must be cheap and must not throw. */
  readonly onAuthenticatedConnection: (connection: Socket) => void;
}
