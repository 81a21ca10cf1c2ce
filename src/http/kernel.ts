import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import type { EventLoopQueue } from '../lib/event-loop-queue.ts';
import type { Logger } from '../lib/logger.ts';
import type { Authenticator } from './callers/authenticator.ts';
import type { BrowserSessions, OperatorBrowsers } from './callers/browser-session.ts';
import type { Member } from './callers/member-role.ts';
import type { WorkerDoor } from './callers/worker-door.types.ts';
import type { HttpMetrics } from './http-metrics.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { BodyBytes } from './input/body-bytes.ts';
import type { RateLimiter } from './limits/rate-limiter.ts';
import type { Principal } from './route.ts';

/** What a member asked for that changes something. */
export interface MemberAct {
  readonly member: Member;
  readonly accountId: string;
  readonly operationId: string;
  readonly path: string;
  readonly requestId: string;
  /** Of the client. */
  readonly address: string;
}

/** What every route runs on. The kernel knows no feature; all of it is passed in. */
export interface Kernel {
  readonly authenticator: Authenticator;
  /** Browsers that signed in to the console. */
  readonly sessions: BrowserSessions;
  /** Browsers that signed in to the operator pages. */
  readonly operatorBrowsers: OperatorBrowsers;
  /** Workers on hosts without a database. */
  readonly workers: WorkerDoor;
  readonly rateLimiter: RateLimiter;
  readonly idempotency: Idempotency;
  readonly metrics: HttpMetrics;
  readonly log: Logger;
  /** Of which the ids of what is made here are. */
  readonly clock: Clock;
  readonly bodyBytes: BodyBytes;
  /** Where long bodies wait until they are looked at. */
  readonly loopQueue: EventLoopQueue;
  /** Throws AppError insufficient_credits or key_limit_exceeded when a caller has nothing to spend and all models cost something. */
  readonly requireFunds: (principal: Principal) => Promise<void>;
  /** Told about every authenticated request; must be cheap and not throw. */
  readonly onAuthenticated: (principal: Principal) => void;
  /** Writes into the audit log what a member is about to do. Rejects when it cannot: then it is not done. */
  readonly recordMemberAct: (act: MemberAct) => Promise<void>;
  /** Told about every connection that a right key, session or operator's token came on; must be cheap and not throw. */
  readonly onProven: (connection: Socket) => void;
}
