import type { Request, Response } from 'express';
import type { Clock } from '../lib/clock.ts';
import { newRequestUuid, publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Envelope } from './answers/envelope.ts';
import { envelopeOfPath } from './answers/envelope.ts';
import type { HttpMetrics } from './http-metrics.ts';
import type { RequestFacts } from './request-facts.ts';

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** One request and its response, with what the kernel learns about it on the way. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  /** The id behind {@link requestId}; undefined: the caller chose it. */
  readonly requestUuid: string | undefined;
  readonly log: Logger;
  /** Route pattern for metrics and log; `unmatched` until a route is found. */
  route: string;
  envelope: Envelope;
  /** What else stands in the log line: ids as the API tells them, nothing a customer wrote or got. */
  readonly facts: RequestFacts;
}

/** Where the framework keeps what belongs to one request. */
interface ExchangeLocals {
  exchange?: Exchange;
}

/** Where an exchange tells about itself. */
export interface ExchangeReport {
  readonly log: Logger;
  /** Gets one line per request. */
  readonly requestLog: Logger;
  readonly metrics: HttpMetrics;
  /** Of which the ids of requests are. */
  readonly clock: Clock;
}

/** What a request is called. */
export interface RequestId {
  readonly text: string;
  /** The id behind the text; undefined where the caller chose it, who may choose the same again. */
  readonly uuid: string | undefined;
}

/** The caller's `x-request-id` when it is 1–128 visible ASCII characters, otherwise a new id of that time (Unix ms). */
export function requestIdOf(header: string | readonly string[] | undefined, nowMs?: number): RequestId {
  if (typeof header === 'string' && REQUEST_ID.test(header)) {
    return { text: header, uuid: undefined };
  }
  const uuid = newRequestUuid(nowMs);
  return { text: publicId('request', uuid), uuid };
}

/** Starts an exchange: gives it its id, and writes its one log line and its metrics when the response ends. */
export function openExchange(request: Request, response: Response, report: ExchangeReport): Exchange {
  const { log, requestLog, metrics, clock } = report;
  const { text: requestId, uuid: requestUuid } = requestIdOf(request.headers['x-request-id'], clock.now());
  const exchange: Exchange = {
    request,
    response,
    requestId,
    requestUuid,
    log,
    route: 'unmatched',
    envelope: envelopeOfPath(request.path),
    facts: {},
  };
  (response.locals as ExchangeLocals).exchange = exchange;
  response.setHeader('x-request-id', requestId);
  const startedAt = performance.now();
  metrics.started();
  response.once('close', () => {
    const durationMs = performance.now() - startedAt;
    metrics.finished(exchange.route, request.method, response.statusCode, durationMs);
    requestLog.info(summary(exchange, durationMs), 'request');
  });
  return exchange;
}

/** The exchange that a response belongs to; undefined for one that failed before it was opened. */
export function exchangeOf(response: Response): Exchange | undefined {
  return (response.locals as ExchangeLocals).exchange;
}

function summary(exchange: Exchange, durationMs: number): object {
  return {
    requestId: exchange.requestId,
    method: exchange.request.method,
    route: exchange.route,
    status: exchange.response.statusCode,
    durationMs: Math.round(durationMs * 10) / 10,
    complete: exchange.response.writableFinished,
    client: exchange.request.ip,
    ...exchange.facts,
  };
}
