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
import { idempotencyKey } from './idempotency.ts';
import { ignoredHeader } from './ignored-members.ts';
import type { Kernel } from './kernel.ts';
import { parseJson, readBody, requireJson } from './request-body.ts';
import type { Principal, Reply, Route, RouteContext } from './route.ts';
import { sendError, sendSuccess } from './send.ts';
import { validate } from './validate.ts';

const BODY_BYTES_MAX = 64 * 1024;

/** Anthropic's SDKs read the id of a request by another name. */
const ANTHROPIC_PREFIX = '/vendorx/';

interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly bytes: Buffer;
  /** Tells the members of the body that the route does not know. */
  readonly ignored: Readonly<Record<string, string>>;
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
    const input = await readInput(kernel, route, exchange, admission.principal);
    const owner = admission.principal ?? (admission.operator === undefined ? undefined : OPERATORS);
    const begun = await beginOnce(kernel, route, exchange, owner, input);
    if (begun && 'body' in begun) {
      replay(exchange, begun);
      return;
    }
    const generationId = begun?.generationId ?? newUuid();
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
): Promise<Input> {
  const { request } = exchange;
  if (request.originalUrl.includes('%00')) {
    throw new AppError('invalid_request', 'the path and the query must not contain NUL');
  }
  const contentType = request.headers['content-type'];
  const form = route.bodyFormat === 'json or form' && isForm(contentType);
  if (route.body && route.bodyFormat !== 'raw' && !form) {
    requireJson(contentType);
  }
  const params = route.params ? validate(route.params, pathParameters(request.params), 'path') : {};
  const query = route.query ? validate(route.query, { ...request.query }, 'query') : {};
  if (!route.body) {
    return { params, query, body: undefined, bytes: Buffer.alloc(0), ignored: {} };
  }
  const isJson = route.bodyFormat !== 'raw' && !form;
  const bytes =
    principal && route.bodyBytesMax !== undefined && route.bodyBytesMax > BODY_BYTES_MAX
      ? await readLargeBody(kernel, exchange, principal, route.bodyBytesMax)
      : await readBody(request, route.bodyBytesMax ?? BODY_BYTES_MAX, { json: isJson });
  if (route.bodyFormat === 'raw') {
    return { params, query, body: bytes, bytes, ignored: {} };
  }
  const sent = form ? await parseForm(bytes, contentType) : parseJson(bytes);
  const body = validate(route.body, sent, 'body');
  return { params, query, body, bytes, ignored: unknownMembers(route.body, sent) };
}

/** Schemas that let all members through tell of the unknown ones themselves, where they know what becomes of them. */
function unknownMembers(schema: z.ZodType, sent: unknown): Readonly<Record<string, string>> {
  const drops = schema instanceof z.ZodObject && schema.def.catchall === undefined;
  return drops ? ignoredHeader(sent as object, Object.keys(schema.shape)) : {};
}

/**
 * A body that may hold images. Callers with nothing to spend are refused before it is read, unless it is small; the rest counts against
 * what their account's bodies may hold until the answer has ended.
 */
async function readLargeBody(
  kernel: Kernel,
  { request, response }: Exchange,
  principal: Principal,
  bytesMax: number,
): Promise<Buffer> {
  const announced = request.headers['content-length'];
  const isLarge = announced === undefined || Number(announced) > BODY_BYTES_MAX;
  if (isLarge && principal.spendable <= ZERO_USD) {
    await kernel.requireFunds(principal);
  }
  const share = kernel.bodyBytes.share(principal.accountId);
  response.once('close', () => share.release());
  return await readBody(request, bytesMax, { json: true, patient: true, onBytes: share.take });
}

/** A rest-of-path parameter arrives as its decoded segments. */
function pathParameters(params: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : value]),
  );
}

async function beginOnce(
  kernel: Kernel,
  route: Route,
  exchange: Exchange,
  principal: Pick<Principal, 'accountId' | 'apiKeyId'> | undefined,
  input: Input,
): Promise<IdempotencyRun | RecordedAnswer | undefined> {
  const header = exchange.request.headers['idempotency-key'];
  if (route.method === 'post' && route.idempotency === undefined && header !== undefined) {
    throw new FieldError(
      'Idempotency-Key',
      'is not honoured here, the request would act again; leave it out',
    );
  }
  const key = route.idempotency === 'replay' ? idempotencyKey(header) : undefined;
  if (key === undefined || !principal) {
    return undefined;
  }
  return kernel.idempotency.begin({
    accountId: principal.accountId,
    apiKeyId: principal.apiKeyId,
    key,
    method: exchange.request.method,
    path: route.path,
    body: input.bytes,
    requestId: exchange.requestId,
    generationId: newUuid(),
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
