import type { Hash } from 'node:crypto';
import type { z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { AT_ONCE, type InTurn } from '../lib/event-loop-queue.ts';
import { ZERO_USD } from '../lib/money.ts';
import type { AdmittedCaller } from './callers/admit-caller.ts';
import type { Exchange } from './exchange.ts';
import type { Repeatable } from './idempotency/repeatable-call.ts';
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
import type { Principal, Route } from './route.ts';

const FORM = /^multipart\/form-data\s*;/i;
const BODY_BYTES_MAX = 64 * 1024;
/** A longer body can take more than 10 ms of uninterrupted work. */
const LONG_BODY_BYTES = 256 * 1024;

/** What a handler gets of a request. */
export interface RouteInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  /** See RouteContext. */
  readonly inTurn: InTurn;
  /** Header that lists the members of the body that the route does not know. */
  readonly ignored: Readonly<Record<string, string>>;
  /** The form of the body, if it is not the route's own. */
  readonly otherForm?: NonNullable<Route['otherForm']>;
}

/** A request whose body is being read. */
export interface Incoming {
  readonly repeatable: Repeatable | undefined;
  /** Releases the memory that the body counts for. */
  release: () => void;
}

/** Reads and validates path, query and body. Throws AppError for what the route does not accept. */
export async function readInput(
  pipeline: RequestPipeline,
  route: Route,
  exchange: Exchange,
  caller: AdmittedCaller,
  incoming: Incoming,
): Promise<RouteInput> {
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
  const checked = (schema: z.ZodType, body: unknown) =>
    isBodyLong ? inTurn(validateInSteps(schema, body)) : validate(schema, body, 'body');
  const { otherForm } = route;
  const otherwise = otherForm?.read(sent);
  if (otherForm && otherwise) {
    const body = await checked(otherForm.schema, await inTurn(otherwise));
    return { params, query, body, inTurn, ignored: {}, otherForm };
  }
  const body = await checked(route.body, sent);
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

/** Returns whether a content type declares a form. */
function isForm(contentType: string | undefined): contentType is string {
  return contentType !== undefined && FORM.test(contentType);
}

/**
 * Parses a form into an object with a member per field; files are kept as files. `fingerprint` takes in the fields instead of the bytes,
 * because clients choose another boundary each time they send the same form. Throws AppError invalid_request for a malformed form.
 */
async function parseForm(
  bytes: Buffer,
  contentType: string,
  fingerprint?: Hash,
): Promise<Record<string, unknown>> {
  const form = await fieldsOf(bytes, contentType);
  if (fingerprint) {
    const contents = Object.entries(form).map(async ([name, value]) => [name, await contentOf(value)]);
    fingerprint.update(JSON.stringify(await Promise.all(contents)));
  }
  return form;
}

async function fieldsOf(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
    return Object.fromEntries(form.entries());
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not the form that its Content-Type declares', {
      cause,
    });
  }
}

async function contentOf(value: unknown): Promise<unknown> {
  return value instanceof Blob
    ? { type: value.type, base64: Buffer.from(await value.arrayBuffer()).toString('base64') }
    : value;
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
