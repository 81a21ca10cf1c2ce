import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import type { ZodType, z } from 'zod';
import type { ErrorCode } from '../lib/errors.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { Steps } from '../lib/steps.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { PresentedSession } from './callers/browser-session.ts';
import type { Member, MemberRole } from './callers/member-role.ts';
import type { WorkerIdentity } from './callers/worker-authenticator.types.ts';
import type { OwnRateLimits } from './limits/rate-policy.ts';
import type { RequestFacts } from './request-facts.ts';
import type { SocketProtocol } from './web-sockets/socket-protocol.types.ts';

/** Limits of a key and its account that differ from the configured ones. */
export interface AccountRateLimits extends OwnRateLimits {
  /** Tasks of the account that may wait for one pool; null for the configured limit. */
  readonly queuedTasks: number | null;
}

/** Below it, answers carry the request id as `request-id`, too: Anthropic's SDKs read it from there. */
export const ANTHROPIC_PREFIX = '/vendorx/';

/** The caller: an API key and the account it spends from. */
export interface Principal {
  readonly accountId: string;
  readonly accountName: string;
  readonly apiKeyId: string;
  /** SHA-256 hex of the secret: the key's public name. */
  readonly keyHash: string;
  /** A member reads like an owner; {@link member} says what they may change. */
  readonly role: 'owner' | 'inference';
  /** The person who owns the key; absent when the key belongs to a program. */
  readonly member?: Member;
  /** Model ids that the account or the key is limited to; null for every model of the catalog. */
  readonly allowedModels: readonly string[] | null;
  /** Limits set for the account and the key. */
  readonly rateLimits: AccountRateLimits;
  /** What the account and the key could spend when they were looked up, less than a second ago. A hint; never decide by it. */
  readonly spendable: NanoUsd;
}

/**
 * `public`: no credential; `inference`: any key; `owner`: an owner key; `operator`: the operator token; `worker`: a worker token. It is
 * required, so no route is public by accident.
 */
export type Access = 'public' | 'inference' | 'owner' | 'operator' | 'worker';

export interface RouteContext<A extends Access, Params, Query, Body> {
  readonly requestId: string;
  /**
   * Id (stored form) of what the request creates: the generation of a paid call, a checkout session. New for each request, except that a
   * request repeated with its Idempotency-Key after a crash gets the id of the first attempt, so that it is created once.
   */
  readonly generationId: string;
  readonly principal: A extends 'inference' | 'owner' ? Principal : undefined;
  /** Session of a browser that authenticates by cookie; undefined for a caller with a key and on public routes. */
  readonly session: PresentedSession | undefined;
  /** Name of the calling operator. */
  readonly operator: A extends 'operator' ? string : undefined;
  /** The calling worker. */
  readonly worker: A extends 'worker' ? WorkerIdentity : undefined;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Runs work on the whole body: at once, or in turns with the work of others when the body is long. */
  readonly inTurn: InTurn;
  readonly headers: IncomingHttpHeaders;
  /** Path and query of the request as sent, for links to the next page. */
  readonly url: string;
  /** Aborts when the client leaves before the response is finished, unless the answer can still be fetched: see repeatable-call.ts. */
  readonly signal: StopSignal;
  /** Reports the tokens that the call used to the rate limiter, which counts an estimate from the size of the body until then. */
  readonly reportTokens: (tokens: number) => void;
  /** Adds facts about the call to the request's log line. */
  readonly note: (facts: RequestFacts) => void;
  /** For handlers that stream. A handler that returns a {@link Reply} must not touch it. */
  readonly response: Response;
}

/** The answer of a handler. A handler that returns `undefined` wrote the response itself (a stream). */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. On `envelope: 'data'` routes the request pipeline adds `request_id` to it. */
  readonly body: object;
}

/** A form of a JSON body besides a route's own, in which some clients send it to the same path. */
export interface OtherForm<A extends Access, Params, Query> {
  /** Returns the body for the schema; undefined if it is meant in the route's own form. */
  readonly read: (sent: unknown) => Steps<unknown> | undefined;
  readonly schema: ZodType;
  handle(context: RouteContext<A, Params, Query, unknown>): Promise<Reply | undefined>;
}

export interface RouteDefinition<A extends Access, Params, Query, Body> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** OpenAPI form: `/api/v1/keys/{hash}`. A trailing `{model+}` takes the rest of the path, slashes included. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** What else a caller should know, for the OpenAPI description. */
  readonly description?: string;
  /** Headers it reads besides those of every route, and what they do, for the OpenAPI description. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly tag: string;
  readonly access: A;
  /**
   * `data`: `{data, …, request_id}` and Tollgate's error envelope; `bare`: body as returned, Tollgate's error envelope; `task`: body as
   * returned, errors with Novita's members besides Tollgate's.
   */
  readonly envelope: 'data' | 'bare' | 'task';
  readonly params?: ZodType<Params>;
  /** Unknown members of the query are rejected: a misspelled filter must not return a wrong total. */
  readonly query?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  /**
   * Bytes; default 64 KiB. Anything above makes it a large body: it counts toward what the bodies of the account may hold, may arrive
   * slowly down to a minimum rate, and is read only from callers with credits.
   */
  readonly bodyBytesMax?: number;
  /**
   * `raw`: the handler gets the bytes of any content type as a Buffer (signed webhooks, HTML forms); `json or form`: multipart forms are
   * accepted too, each field as a member. Default `json`.
   */
  readonly bodyFormat?: 'json' | 'json or form' | 'raw';
  /** Usual media type of a raw body, for the OpenAPI description. */
  readonly bodyMediaType?: string;
  readonly otherForm?: OtherForm<A, Params, Query>;
  readonly response: {
    readonly status: number;
    readonly schema: ZodType;
    readonly mediaTypes?: readonly string[];
    /** One event of the stream that a caller can request with `stream: true` instead. */
    readonly stream?: ZodType;
    /** Headers of a success besides those of every route, for the OpenAPI description. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Other statuses that a valid request may get, and when. Their bodies use the first media type. */
    readonly also?: Readonly<Record<number, string>>;
  };
  /** Documented besides those of every route (400, 401, 403, 429, 500). */
  readonly errors: readonly ErrorCode[];
  /**
   * Effect of an Idempotency-Key on a POST. `replay`: the (encrypted) answer is stored for 24 h; of a stream, only the generation id.
   * `booked`: the handler books once per key, forever. `natural`: no effect, since repeating the request changes nothing. Absent: the
   * header is rejected, because repeating the request would act again.
   */
  readonly idempotency?: 'replay' | 'booked' | 'natural';
  /** Lowest role that a member needs; member-role.ts has the defaults. */
  readonly leastRole?: MemberRole;
  /** A POST that changes nothing and costs nothing: viewers may send it, and it is not written to the audit log. */
  readonly asksOnly?: boolean;
  /** Requires that the browser session signed in within the last 15 minutes. */
  readonly recentLogin?: boolean;
  /** What can be spoken over a WebSocket at this path, besides requests over HTTP. */
  readonly overSocket?: SocketProtocol;
  handle(context: RouteContext<A, Params, Query, Body>): Promise<Reply | undefined>;
}

/** A route as the request pipeline mounts and documents it, with its types erased. */
export type Route = RouteDefinition<Access, unknown, unknown, unknown>;

/** Checks a route's types against each other: the handler gets exactly what the schemas accept. */
export function defineRoute<
  A extends Access,
  P extends ZodType = ZodType<Record<string, never>>,
  Q extends ZodType = ZodType<Record<string, never>>,
  B extends ZodType = ZodType<undefined>,
>(
  definition: Omit<RouteDefinition<A, z.output<P>, z.output<Q>, z.output<B>>, 'params' | 'query' | 'body'> & {
    readonly params?: P;
    readonly query?: Q;
    readonly body?: B;
  },
): Route {
  return definition as unknown as Route;
}
