import type { Response } from 'express';
import { AppError } from '../../lib/errors.ts';
import { isDatabaseOutage } from '../../store/database-outage.ts';
import type { Exchange } from '../exchange.ts';
import { errorBody, successBody } from './envelope.ts';

/** The path that aider calls for `openai/` models. */
const AIDERS_PATH = '/api/v1/chat/completions';
/** aider gives up on a 402 whose message begins like ours and contains this text; any other 402 it retries for a minute or more. */
const FINAL_FOR_AIDER = ' {"code":402}';

/** Writes a JSON body as the whole response. */
export function sendJson(response: Response, status: number, body: object): void {
  // as text, so that Node sends head and body in one system call
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Sends a success in the route's envelope. */
export function sendSuccess(exchange: Exchange, status: number, body: object): void {
  sendJson(exchange.response, status, successBody(body, exchange.requestId, exchange.envelope));
}

/**
 * Sends an error; every error goes through here. It is sent in its envelope if nothing was sent yet, otherwise the connection is cut.
 * Errors that are not the client's fault are logged with the request id; the client sees neither stack nor cause.
 */
export function sendError(exchange: Exchange, thrown: unknown): void {
  const error = toAppError(thrown);
  exchange.facts.code = error.code;
  if (error.status >= 500) {
    exchange.log.error(
      {
        error: error.cause ?? error,
        code: error.code,
        route: exchange.route,
        requestId: exchange.requestId,
      },
      'request failed',
    );
  }
  const { response } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error.status === 401) {
    response.setHeader('WWW-Authenticate', 'Bearer');
  }
  if (error.retryAfterSeconds !== undefined) {
    response.setHeader('Retry-After', error.retryAfterSeconds);
  }
  if (error.shouldRetry !== undefined) {
    response.setHeader('x-should-retry', String(error.shouldRetry));
  }
  const mark = error.status === 402 && exchange.route === AIDERS_PATH ? FINAL_FOR_AIDER : '';
  sendJson(response, error.status, errorBody(error, exchange.requestId, exchange.envelope, mark));
}

/** Converts anything thrown into an error that the client may see. The original is kept as the cause, for the log. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }
  if (isDatabaseOutage(error) || declaresOutage(error)) {
    return new AppError('service_unavailable', 'the service is briefly unavailable, please retry', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof URIError || statusOf(error) === 400) {
    return new AppError('invalid_request', 'the request path is not valid percent-encoded UTF-8', {
      cause: error,
    });
  }
  return new AppError(
    'internal_error',
    'an internal error occurred; support can trace it by its request id',
    {
      cause: error,
    },
  );
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
}

/** Errors of the media storage say so themselves: this layer does not know it. */
function declaresOutage(error: unknown): boolean {
  return error instanceof Error && 'isOutage' in error && error.isOutage === true;
}
