import type { Request, Response } from 'express';
import type { Clock } from '../lib/clock.ts';
import { newRequestUuid, publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Envelope } from './answers/envelope.ts';
import { envelopeOfPath } from './answers/envelope.ts';
import type { HttpMetrics } from './http-metrics.ts';
import type { RequestFacts } from './request-facts.ts';

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** One request and its response, with what the request pipeline learns while handling them. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  /** The UUID behind {@link requestId}; undefined when the caller chose the id. */
  readonly requestUuid: string | undefined;
  readonly log: Logger;
  /** Route pattern for metrics and log; `unmatched` until a route is found. */
  route: string;
  envelope: Envelope;
  /** Further fields of the log line: ids as the API shows them, never content that a customer sent or received. */
  readonly facts: RequestFacts;
}

/** Shape of `response.locals`, where Express keeps the data of one request. */
interface ExchangeLocals {
  exchange?: Exchange;
}

/** The logs, metrics and clock that an exchange uses. */
export interface ExchangeReport {
  readonly log: Logger;
  /** Receives one line per request. */
  readonly requestLog: Logger;
  readonly metrics: HttpMetrics;
  /** Supplies the time in request ids. */
  readonly clock: Clock;
}

/** The id of a request. */
export interface RequestId {
  readonly text: string;
  /** The UUID behind the text; undefined when the caller chose the text, because a caller may choose the same text again. */
  readonly uuid: string | undefined;
}

/** Returns the caller's `x-request-id` when it is 1–128 visible ASCII characters, otherwise a new id for the given time (Unix ms). */
export function requestIdOf(header: string | readonly string[] | undefined, nowMs?: number): RequestId {
  if (typeof header === 'string' && REQUEST_ID.test(header)) {
    return { text: header, uuid: undefined };
  }
  const uuid = newRequestUuid(nowMs);
  return { text: publicId('request', uuid), uuid };
}

/** Opens an exchange: assigns its id, and writes its one log line and its metrics when the response closes. */
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

/** Returns the exchange of a response; undefined when the request failed before one was opened. */
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
