import type { z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { AT_ONCE, type InTurn } from '../lib/event-loop-queue.ts';
import { publicId } from '../lib/ids.ts';
import { ZERO_USD } from '../lib/money.ts';
import { sendError, sendSuccess } from './answers/send.ts';
import { type AdmittedCaller, admitCaller } from './callers/admit-caller.ts';
import type { Exchange } from './exchange.ts';
import type { RecordedAnswer } from './idempotency/idempotency.ts';
import { beginCall, type OpenCall, type Repeatable, repeatableOf } from './idempotency/repeatable-call.ts';
import { isForm, parseForm } from './input/form-body.ts';
import { dropsUnknownMembers, ignoredHeader } from './input/ignored-members.ts';
import {
  type BodyReading,
  readJson,
  readRequestBody,
  requireJson,
  requireSomeBody,
} from './input/request-body.ts';
import { validate } from './input/validate.ts';
import { validateInSteps } from './input/validate-in-steps.ts';
import type { RequestPipeline } from './request-pipeline.ts';
import { ANTHROPIC_PREFIX, type Principal, type Reply, type Route, type RouteContext } from './route.ts';

const BODY_BYTES_MAX = 64 * 1024;
/** A longer body can take more than 10 ms of uninterrupted work. */
const LONG_BODY_BYTES = 256 * 1024;

interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  /** See RouteContext. */
  readonly inTurn: InTurn;
  /** Header that lists the members of the body that the route does not know. */
  readonly ignored: Readonly<Record<string, string>>;
}

/** A request whose body is being read. */
interface Incoming {
  readonly repeatable: Repeatable | undefined;
  /** Releases the memory that the body counts for. */
  release: () => void;
}

/** Owner of the operators' Idempotency-Keys: no account has this id. */
const OPERATORS = { accountId: '00000000-0000-0000-0000-000000000000', apiKeyId: 'operator' };

/**
 * Runs one request through its route: authentication, permission and rate limits, input, idempotency, the handler, the answer. Never
 * rejects: anything thrown on the way is answered as an error.
 */
export async function runRoute(pipeline: RequestPipeline, route: Route, exchange: Exchange): Promise<void> {
  exchange.route = route.path;
  exchange.envelope = route.envelope;
  if (route.path.startsWith(ANTHROPIC_PREFIX)) {
    exchange.response.setHeader('request-id', exchange.requestId);
  }
  let incoming: Incoming | undefined;
  let leavePlace: (() => void) | undefined;
  try {
    const caller = await admitCaller(pipeline, route, exchange);
    const owner = caller.principal ?? (caller.operator === undefined ? undefined : OPERATORS);
    incoming = { repeatable: repeatableOf(route, exchange, owner), release: () => undefined };
    const input = await readInput(pipeline, route, exchange, caller, incoming);
    const origin = { accountId: caller.principal?.accountId, repeatable: incoming.repeatable };
    const call = await beginCall(pipeline, route, exchange, origin, input.body);
    if ('body' in call) {
      replay(exchange, call);
      return;
    }
    leavePlace = call.goesOn ? caller.keepPlace() : undefined;
    if (route.access === 'inference' && route.idempotency === 'replay') {
      exchange.facts.generationId = publicId('generation', call.generationId);
    }
    await answer(route, exchange, contextOf(exchange, caller, input, call), input, call);
  } catch (error) {
    sendError(exchange, error);
  } finally {
    // not when the client leaves: a call that continues without its client still holds its body
    incoming?.release();
    leavePlace?.();
  }
}

async function readInput(
  pipeline: RequestPipeline,
  route: Route,
  exchange: Exchange,
  caller: AdmittedCaller,
  incoming: Incoming,
): Promise<Input> {
  const { request } = exchange;
  const { principal } = caller;
  if (request.originalUrl.includes('%00')) {
    throw new AppError('invalid_request', 'the path and the query must not contain NUL');
  }
  refuseCsv(route, request);
  const contentType = request.headers['content-type'];
  const form = route.bodyFormat === 'json or form' && isForm(contentType);
  const isJson = route.bodyFormat !== 'raw' && !form;
  if (route.body && isJson) {
    if (contentType === undefined) {
      requireSomeBody(request);
    }
    requireJson(contentType);
  }
  const params = route.params ? validate(route.params, pathParameters(request.params), 'path') : {};
  const query = route.query ? validate(route.query, { ...request.query }, 'query') : {};
  if (!route.body) {
    return { params, query, body: undefined, inTurn: AT_ONCE, ignored: {} };
  }
  const otherFormat = form ? 'form' : 'raw';
  const { sent, byteCount } = await readSent(
    pipeline,
    route,
    exchange,
    caller,
    incoming,
    isJson ? 'json' : otherFormat,
  );
  if (route.bodyFormat === 'raw') {
    return { params, query, body: sent, inTurn: AT_ONCE, ignored: {} };
  }
  const isBodyLong = principal !== undefined && isJson && byteCount > LONG_BODY_BYTES;
  const inTurn: InTurn = isBodyLong ? (steps) => pipeline.loopQueue.run(principal.accountId, steps) : AT_ONCE;
  const body = isBodyLong
    ? await inTurn(validateInSteps(route.body, sent))
    : validate(route.body, sent, 'body');
  return { params, query, body, inTurn, ignored: unknownMembers(route.body, sent) };
}

/**
 * Names the members of the body that the route drops. Schemas that let all members through report the unknown ones themselves, where they
 * know what happens to them.
 */
function unknownMembers(schema: z.ZodType, sent: unknown): Readonly<Record<string, string>> {
  return dropsUnknownMembers(schema) ? ignoredHeader(sent as object, Object.keys(schema.shape)) : {};
}

/** Returns the unvalidated body; for a raw route, its bytes. */
async function readSent(
  pipeline: RequestPipeline,
  route: Route,
  exchange: Exchange,
  { principal, worker }: AdmittedCaller,
  incoming: Incoming,
  format: 'json' | 'raw' | 'form',
): Promise<{ readonly sent: unknown; readonly byteCount: number }> {
  const { request } = exchange;
  const { bodyBytesMax = BODY_BYTES_MAX } = route;
  let byteCount = 0;
  const fingerprint = incoming.repeatable?.fingerprint;
  const ofBytes = format === 'form' ? undefined : fingerprint;
  const onChunk = (chunk: Buffer): void => {
    byteCount += chunk.length;
    ofBytes?.update(chunk);
  };
  const holder = principal?.accountId ?? worker?.tokenId;
  if (principal && bodyBytesMax > BODY_BYTES_MAX) {
    await requireFunds(pipeline, exchange, principal);
  }
  const reading =
    holder !== undefined && bodyBytesMax > BODY_BYTES_MAX
      ? largeReading(pipeline, holder, incoming, onChunk)
      : { onChunk };
  if (format === 'json') {
    const sent = await readJson(request, bodyBytesMax, reading);
    return { sent, byteCount };
  }
  const bytes = await readRequestBody(request, bodyBytesMax, reading);
  const contentType = request.headers['content-type'] ?? '';
  const sent = format === 'form' ? await parseForm(bytes, contentType, fingerprint) : bytes;
  return { sent, byteCount };
}

/** Rejects callers with nothing to spend before reading a body that may hold images, unless it is small. */
async function requireFunds(
  pipeline: RequestPipeline,
  { request }: Exchange,
  principal: Principal,
): Promise<void> {
  const announced = request.headers['content-length'];
  const isLarge = announced === undefined || Number(announced) > BODY_BYTES_MAX;
  if (isLarge && principal.spendable <= ZERO_USD) {
    await pipeline.requireFunds(principal);
  }
}

/** Returns how to read a large body: it counts toward the bytes that its account or worker token may hold, until it is released. */
function largeReading(
  pipeline: RequestPipeline,
  holder: string,
  incoming: Incoming,
  onChunk: (chunk: Buffer) => void,
): BodyReading {
  const share = pipeline.bodyBytes.share(holder);
  incoming.release = share.release;
  return {
    patient: true,
    inTurn: (steps) => pipeline.loopQueue.run(holder, steps),
    onChunk: (chunk) => {
      share.take(chunk.length);
      onChunk(chunk);
    },
  };
}

/** Joins rest-of-path parameters, which arrive as decoded segments. */
function pathParameters(params: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : value]),
  );
}

function replay(exchange: Exchange, recorded: RecordedAnswer): void {
  exchange.response.setHeader('Idempotent-Replayed', 'true');
  setHeaders(exchange, recorded.headers);
  sendSuccess(exchange, recorded.status, recorded.body);
}

async function answer(
  route: Route,
  exchange: Exchange,
  context: RouteContext<never, unknown, unknown, unknown>,
  { ignored }: Input,
  call: OpenCall,
): Promise<void> {
  let reply: Reply | undefined;
  try {
    reply = await route.handle(context);
  } catch (error) {
    await (await call.end())?.failed();
    throw error;
  }
  const run = await call.end();
  if (!reply) {
    await (exchange.response.headersSent ? run?.streamed() : run?.failed());
    return;
  }
  const status = reply.status ?? route.response.status;
  const headers = { ...ignored, ...reply.headers };
  await run?.answered({ status, headers, body: reply.body });
  if (exchange.response.destroyed) {
    return;
  }
  setHeaders(exchange, headers);
  sendSuccess(exchange, status, reply.body);
}

function contextOf(
  exchange: Exchange,
  caller: Awaited<ReturnType<typeof admitCaller>>,
  input: Input,
  { generationId, signal }: OpenCall,
): RouteContext<never, unknown, unknown, unknown> {
  const { request, response } = exchange;
  return {
    requestId: exchange.requestId,
    generationId,
    principal: caller.principal as never,
    session: caller.session,
    operator: caller.operator as never,
    worker: caller.worker as never,
    params: input.params,
    query: input.query,
    body: input.body,
    inTurn: input.inTurn,
    headers: request.headers,
    url: request.originalUrl,
    signal,
    reportTokens: caller.reportTokens,
    note: (facts) => Object.assign(exchange.facts, facts),
    response,
  };
}

function setHeaders(exchange: Exchange, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    exchange.response.setHeader(name, value);
  }
}

/**
 * Throws AppError invalid_request (406) for a request that takes nothing but CSV from a route that has only JSON: a program that was not
 * told so would read the JSON as a table.
 */
function refuseCsv(
  { response: { mediaTypes } }: Pick<Route, 'response'>,
  request: Exchange['request'],
): void {
  const wantsCsv = request.headers.accept?.includes('text/csv') && !request.accepts('application/json');
  if (mediaTypes === undefined && wantsCsv) {
    throw new AppError('invalid_request', 'There is no CSV form of this: send Accept: application/json.', {
      status: 406,
    });
  }
}
