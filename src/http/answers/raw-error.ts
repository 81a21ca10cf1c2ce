import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AppError } from '../../lib/errors.ts';
import { requestIdOf } from '../exchange.ts';
import { envelopeOfPath, errorBody } from './envelope.ts';

/** Answers with an error and closes the connection, where Node has no response object for the request. */
export function endWithError(connection: Duplex, error: AppError, path: string): void {
  const { text: requestId } = requestIdOf(undefined);
  const body = JSON.stringify(errorBody(error, requestId, envelopeOfPath(path)));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...(error.retryAfterSeconds === undefined ? [] : [`Retry-After: ${error.retryAfterSeconds}`]),
    'Connection: close',
  ];
  connection.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
