import type { Hash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { newUuid, publicId } from '../lib/ids.ts';
import { ZERO_USD } from '../lib/money.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { admitCaller } from './admit-caller.ts';
import type { Exchange } from './exchange.ts';
import { FieldError } from './field-error.ts';
import { isForm, parseForm } from './form-body.ts';
import type { IdempotencyRun, RecordedAnswer } from './idempotency.ts';
import { fingerprint, idempotencyKey } from './idempotency.ts';
import { ignoredHeader } from './ignored-members.ts';
import type { Kernel } from './kernel.ts';
import { type BodyReading, readBody, readJson, requireJson, requireSomeBody } from './request-body.ts';
import type { Principal, Reply, Route, RouteContext } from './route.ts';
import { sendError, sendSuccess } from './send.ts';
import { validate, validateInSteps } from './validate.ts';

const BODY_BYTES_MAX = 64 * 1024;
/** A body of more bytes can be more than 10 ms of work in one go. */
const LONG_BODY_BYTES = 256 * 1024;

/** Anthropic's SDKs read the id of a request by another name. */
const ANTHROPIC_PREFIX = '/vendorx/';

interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly isBodyLong: boolean;
  /** Tells the members of the body that the route does not know. */
  readonly ignored: Readonly<Record<string, string>>;
}

/** A request that acts once, whatever its client sends again. */
interface Once {
  readonly accountId: string;
  readonly key: string;
  /** Takes the body in as it comes. */
  readonly fingerprint: Hash;
}

/** Whose the Idempotency-Keys of operators are: no account has this id. */
const OPERATORS = { accountId: '00000000-0000-0000-0000-000000000000', apiKeyId: 'operator' };

/**
 * One request through its route: who calls, may they, how often; what they send; whether it was done before; the
 * handler; the answer. Never rejects: whatever is thrown on the way is answered.
 */
export async function runRoute(kernel: Kernel, route: Route, exchange: Exchange): Promise<void> {
  exchange.route = route.path;
  exchange.envelope = route.envelope;
  if (route.path.startsWith(ANTHROPIC_PREFIX)) {
    exchange.response.setHeader('request-id', exchange.requestId);
  }
  try {
    const admission = await admitCaller(kernel, route, exchange);
    const owner = admission.principal ?? (admission.operator === undefined ? undefined : OPERATORS);
    const once = onceOf(route, exchange, owner);
    const input = await readInput(kernel, route, exchange, admission.principal, once);
    const begun = once && (await beginOnce(kernel, exchange, once));
    if (begun && 'body' in begun) {
      replay(exchange, begun);
      return;
    }
    const generationId = begun?.generationId ?? newUuid(kernel.clock.now());
    if (route.access === 'inference' && route.idempotency === 'replay') {
      exchange.generationId = publicId('generation', generationId);
    }
    await answer(route, exchange, contextOf(exchange, admission, input, generationId), input, begun);
  } catch (error) {
    sendError(exchange, error);
  }
}

async function readInput(
  kernel: Kernel,
  route: Route,
  exchange: Exchange,
  principal: Principal | undefined,
  once: Once | undefined,
): Promise<Input> {
  const { request } = exchange;
  if (request.originalUrl.includes('%00')) {
    throw new AppError('invalid_request', 'the path and the query must not contain NUL');
  }
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
    return { params, query, body: undefined, isBodyLong: false, ignored: {} };
  }
  const otherFormat = form ? 'form' : 'raw';
  const { sent, byteCount } = await readSent(
    kernel,
    route,
    exchange,
    principal,
    once,
    isJson ? 'json' : otherFormat,
  );
  if (route.bodyFormat === 'raw') {
    return { params, query, body: sent, isBodyLong: false, ignored: {} };
  }
  const isBodyLong = principal !== undefined && isJson && byteCount > LONG_BODY_BYTES;
  const body = isBodyLong
    ? await kernel.turns.run(principal.accountId, validateInSteps(route.body, sent, 'body'))
    : validate(route.body, sent, 'body');
  return { params, query, body, isBodyLong, ignored: unknownMembers(route.body, sent) };
}

/** Schemas that let all members through tell of the unknown ones themselves, where they know what becomes of them. */
function unknownMembers(schema: z.ZodType, sent: unknown): Readonly<Record<string, string>> {
  const drops = schema instanceof z.ZodObject && schema.def.catchall === undefined;
  return drops ? ignoredHeader(sent as object, Object.keys(schema.shape)) : {};
}

/** What the body says, nothing of it checked: its bytes where it is raw. */
async function readSent(
  kernel: Kernel,
  route: Route,
  exchange: Exchange,
  principal: Principal | undefined,
  once: Once | undefined,
  format: 'json' | 'raw' | 'form',
): Promise<{ readonly sent: unknown; readonly byteCount: number }> {
  const { request } = exchange;
  const { bodyBytesMax = BODY_BYTES_MAX } = route;
  let byteCount = 0;
  const onChunk = (chunk: Buffer): void => {
    byteCount += chunk.length;
    once?.fingerprint.update(chunk);
  };
  const reading =
    principal && bodyBytesMax > BODY_BYTES_MAX
      ? await largeReading(kernel, exchange, principal, onChunk)
      : { onChunk };
  if (format === 'json') {
    const sent = await readJson(request, bodyBytesMax, reading);
    return { sent, byteCount };
  }
  const bytes = await readBody(request, bodyBytesMax, reading);
  const sent = format === 'form' ? await parseForm(bytes, request.headers['content-type'] ?? '') : bytes;
  return { sent, byteCount };
}

/**
 * How a body that may hold images is read. Callers with nothing to spend are refused before it is read, unless it is small; the rest
 * counts against what their account's bodies may hold until the answer has ended.
 */
async function largeReading(
  kernel: Kernel,
  { request, response }: Exchange,
  principal: Principal,
  onChunk: (chunk: Buffer) => void,
): Promise<BodyReading> {
  const announced = request.headers['content-length'];
  const isLarge = announced === undefined || Number(announced) > BODY_BYTES_MAX;
  if (isLarge && principal.spendable <= ZERO_USD) {
    await kernel.requireFunds(principal);
  }
  const share = kernel.bodyBytes.share(principal.accountId);
  response.once('close', () => share.release());
  return {
    patient: true,
    onChunk: (chunk) => {
      share.take(chunk.length);
      onChunk(chunk);
    },
  };
}

/** A rest-of-path parameter arrives as its decoded segments. */
function pathParameters(params: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : value]),
  );
}

/** Undefined where the client asks for nothing. Throws AppError invalid_parameter for a key that is wrong or not honoured. */
function onceOf(
  route: Route,
  { request }: Exchange,
  owner: Pick<Principal, 'accountId' | 'apiKeyId'> | undefined,
): Once | undefined {
  const header = request.headers['idempotency-key'];
  if (route.method === 'post' && route.idempotency === undefined && header !== undefined) {
    throw new FieldError(
      'Idempotency-Key',
      'is not honoured here, the request would act again; leave it out',
    );
  }
  const key = route.idempotency === 'replay' ? idempotencyKey(header) : undefined;
  return key === undefined || !owner
    ? undefined
    : {
        accountId: owner.accountId,
        key,
        fingerprint: fingerprint(owner.apiKeyId, request.method, route.path),
      };
}

function beginOnce(
  kernel: Kernel,
  { requestId }: Exchange,
  once: Once,
): Promise<IdempotencyRun | RecordedAnswer> {
  return kernel.idempotency.begin({
    ...once,
    fingerprint: once.fingerprint.digest('hex'),
    requestId,
    generationId: newUuid(kernel.clock.now()),
  });
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
  run: IdempotencyRun | undefined,
): Promise<void> {
  let reply: Reply | undefined;
  try {
    reply = await route.handle(context);
  } catch (error) {
    await run?.failed();
    throw error;
  }
  if (!reply) {
    await run?.streamed();
    return;
  }
  const status = reply.status ?? route.response.status;
  const headers = { ...ignored, ...reply.headers };
  await run?.answered({ status, headers, body: reply.body });
  setHeaders(exchange, headers);
  sendSuccess(exchange, status, reply.body);
}

function contextOf(
  exchange: Exchange,
  admission: Awaited<ReturnType<typeof admitCaller>>,
  input: Input,
  generationId: string,
): RouteContext<never, unknown, unknown, unknown> {
  const { request, response } = exchange;
  return {
    requestId: exchange.requestId,
    generationId,
    principal: admission.principal as never,
    session: admission.session,
    operator: admission.operator as never,
    params: input.params,
    query: input.query,
    body: input.body,
    isBodyLong: input.isBodyLong,
    headers: request.headers,
    url: request.originalUrl,
    signal: departureSignal(exchange),
    reportTokens: admission.reportTokens,
    response,
  };
}

/** Aborts when the connection closes before the response is finished. */
function departureSignal({ response }: Exchange): StopSignal {
  const controller = new StopController();
  response.once('close', () => {
    if (!response.writableFinished) {
      controller.abort();
    }
  });
  if (response.destroyed && !response.writableFinished) {
    controller.abort();
  }
  return controller.signal;
}

function setHeaders(exchange: Exchange, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    exchange.response.setHeader(name, value);
  }
}
