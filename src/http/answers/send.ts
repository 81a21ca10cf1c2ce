import type { Response } from 'express';
import type { Exchange } from '../exchange.ts';
import { errorBody, successBody } from './envelope.ts';
import { toAppError } from './to-app-error.ts';

/** Where aider calls `openai/` models. */
const AIDERS_PATH = '/api/v1/chat/completions';
/** aider ends at a message that begins as ours do and has this text, and asks again for a minute and more at every other 402. */
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

/** Writes a success as the route's envelope wants it. */
export function sendSuccess(exchange: Exchange, status: number, body: object): void {
  sendJson(exchange.response, status, successBody(body, exchange.requestId, exchange.envelope));
}

/**
 * The one way an error leaves: its envelope when nothing was sent yet, a cut connection otherwise. What is not the
 * client's doing is logged with the request id; the client sees neither stack nor cause.
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
