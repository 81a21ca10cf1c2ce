import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import type { ZodType, z } from 'zod';
import type { ErrorCode } from '../lib/errors.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { PresentedSession } from './callers/browser-session.ts';
import type { Member, MemberRole } from './callers/member-role.ts';
import type { WorkerIdentity } from './callers/worker-door.types.ts';
import type { OwnRateLimits } from './limits/rate-policy.ts';
import type { RequestFacts } from './request-facts.ts';

/** Where a key and its account may do less, or more, than is configured. */
export interface AccountRateLimits extends OwnRateLimits {
  /** Tasks of the account that may wait for one pool; null: as configured. */
  readonly queuedTasks: number | null;
}

/** Who is calling: an API key and the account it spends from. */
export interface Principal {
  readonly accountId: string;
  readonly accountName: string;
  readonly apiKeyId: string;
  /** SHA-256 hex of the secret: the key's public name. */
  readonly keyHash: string;
  /** A member reads as an owner does; what they may change is said by {@link member}. */
  readonly role: 'owner' | 'inference';
  /** The person whose key it is; absent for a program's key. */
  readonly member?: Member;
  /** Model ids the account or the key is confined to; null = every model of the catalog. */
  readonly allowedModels: readonly string[] | null;
  /** Limits that were set for the account and the key. */
  readonly rateLimits: AccountRateLimits;
  /** What the account and the key could spend when they were looked up, less than a second ago. A hint, never a decision. */
  readonly spendable: NanoUsd;
}

/**
 * `public`: no credential; `inference`: any key; `owner`: an owner key; `operator`: the operator token;
 * `worker`: a worker token. A route cannot be defined without one, so a route nobody thought about cannot exist.
 */
export type Access = 'public' | 'inference' | 'owner' | 'operator' | 'worker';

export interface RouteContext<A extends Access, Params, Query, Body> {
  readonly requestId: string;
  /**
   * The id (stored form) of what the request makes: the generation of a paid call, a checkout session. Fresh for each request,
   * except that one repeated under its Idempotency-Key after a crash gets the id of the first try, so that it is made once.
   */
  readonly generationId: string;
  readonly principal: A extends 'inference' | 'owner' ? Principal : undefined;
  /** The session of a browser that calls by its cookie; undefined for a caller with a key and on public routes. */
  readonly session: PresentedSession | undefined;
  /** Name of the operator who calls. */
  readonly operator: A extends 'operator' ? string : undefined;
  /** The worker that calls. */
  readonly worker: A extends 'worker' ? WorkerIdentity : undefined;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Runs work on the whole of the body: at once, or in turns with that of others where the body is long. */
  readonly inTurn: InTurn;
  readonly headers: IncomingHttpHeaders;
  /** The request's path and query as sent, for links to a next page. */
  readonly url: string;
  /** Aborts when the client leaves before the response is finished, unless its answer can still be had: see repeatable-call.ts. */
  readonly signal: StopSignal;
  /** Tells the limiter what the call really used in tokens; until then it counts an estimate from the body's size. */
  readonly reportTokens: (tokens: number) => void;
  /** Puts facts of the call into the request's log line. */
  readonly note: (facts: RequestFacts) => void;
  /** For handlers that stream; a handler that returns a {@link Reply} does not touch it. */
  readonly response: Response;
}

/** What a handler answers. `undefined` from a handler means it wrote the response itself (a stream). */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. On `envelope: 'data'` routes the kernel adds `request_id` to it. */
  readonly body: object;
}

export interface RouteDefinition<A extends Access, Params, Query, Body> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** OpenAPI form: `/api/v1/keys/{hash}`. A trailing `{model+}` takes the rest of the path, slashes included. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** What else a caller should know; for the description. */
  readonly description?: string;
  /** Headers it heeds beside those of every route, and what they do; for the description. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly tag: string;
  readonly access: A;
  /**
   * `data`: `{data, …, request_id}` and our error envelope; `bare`: body as returned, our error envelope;
   * `task`: body as returned, Novita's error members beside ours.
   */
  readonly envelope: 'data' | 'bare' | 'task';
  readonly params?: ZodType<Params>;
  /** Unknown members of the query are refused: a misspelt filter must not return a wrong total. */
  readonly query?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  /**
   * Bytes; default 64 KiB. A larger one makes it a large body: counted against what the account's bodies may hold, waited for at a floor
   * rate, and read from callers with credits only.
   */
  readonly bodyBytesMax?: number;
  /**
   * `raw`: the handler gets the bytes of any content type as a Buffer (signed webhooks, HTML forms); `json or form`: a multipart form is
   * taken, too, each field as a member. Default `json`.
   */
  readonly bodyFormat?: 'json' | 'json or form' | 'raw';
  /** What a raw body usually is, for the description. */
  readonly bodyMediaType?: string;
  readonly response: {
    readonly status: number;
    readonly schema: ZodType;
    readonly mediaTypes?: readonly string[];
    /** One event of the stream that a caller may ask for instead, with `stream: true`. */
    readonly stream?: ZodType;
    /** Headers of a success beside those of every route; for the description. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Other statuses that a good request is answered with, and when; their bodies are of the first media type. */
    readonly also?: Readonly<Record<number, string>>;
  };
  /** Documented beside the ones every route has (400, 401, 403, 429, 500). */
  readonly errors: readonly ErrorCode[];
  /**
   * Of a POST, what an Idempotency-Key does. `replay`: the (encrypted) answer is stored for 24 h; of a stream only the generation id.
   * `booked`: the handler books once under it, for ever. `natural`: nothing, repeating the request changes nothing. Absent: the header is
   * refused, because a repetition would act again.
   */
  readonly idempotency?: 'replay' | 'booked' | 'natural';
  /** The least role a member needs; see member-role.ts for what goes without saying. */
  readonly leastRole?: MemberRole;
  /** A POST that changes and costs nothing: a viewer may ask, and nothing is written into the audit log. */
  readonly asksOnly?: boolean;
  /** A browser's session must be of a sign-in within the last 15 minutes. */
  readonly recentLogin?: boolean;
  handle(context: RouteContext<A, Params, Query, Body>): Promise<Reply | undefined>;
}

/** A route as the kernel mounts and documents it, its types erased. */
export type Route = RouteDefinition<Access, unknown, unknown, unknown>;

/** Checks a route's types against each other: the handler sees exactly what the schemas let through. */
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
