import { publicId } from '../lib/ids.ts';
import { sendError, sendSuccess } from './answers/send.ts';
import { admitCaller } from './callers/admit-caller.ts';
import type { Exchange } from './exchange.ts';
import type { RecordedAnswer } from './idempotency/idempotency.ts';
import { beginCall, type OpenCall, repeatableOf } from './idempotency/repeatable-call.ts';
import type { RequestPipeline } from './request-pipeline.ts';
import { ANTHROPIC_PREFIX, type Reply, type Route, type RouteContext } from './route.ts';
import { type Incoming, type RouteInput, readInput } from './route-input.ts';

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

function replay(exchange: Exchange, recorded: RecordedAnswer): void {
  exchange.response.setHeader('Idempotent-Replayed', 'true');
  setHeaders(exchange, recorded.headers);
  sendSuccess(exchange, recorded.status, recorded.body);
}

async function answer(
  route: Route,
  exchange: Exchange,
  context: RouteContext<never, unknown, unknown, unknown>,
  { ignored, otherForm }: RouteInput,
  call: OpenCall,
): Promise<void> {
  let reply: Reply | undefined;
  try {
    reply = await (otherForm ?? route).handle(context);
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
  input: RouteInput,
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
