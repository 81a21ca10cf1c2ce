import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { AppError } from '../lib/errors.ts';
import { envelopeOfPath, errorBody } from './answers/envelope.ts';
import { requestIdOf } from './exchange.ts';
import { dropUnread, hasBody } from './input/request-body.ts';
import { isSlowBodyAllowed } from './input/slow-body.ts';

/** What the requests and responses of one application are instances of. */
interface ExpressPrototypes {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

const known = new WeakMap<Express, ExpressPrototypes>();

const HEADER_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 10_000;

/**
 * The HTTP server with limits a public port needs, answering in the envelope even what Node refuses by itself. `listener` stands before
 * the application, where there is one.
 */
export function createHttpServer(app: Express, listener: RequestListener = app): Server {
  const answer: RequestListener = (request, response) => {
    if (hasBody(request)) {
      response.once('prefinish', () => {
        dropUnread(request);
        if (!request.complete && isLast(response)) {
          closeAfterBody(request);
        }
      });
    }
    listener(request, response);
  };
  const server = createServer(
    {
      ...expressPrototypesOf(app),
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      // how late the two above may be; short, because all who are too late by then are refused in one turn of the event loop
      connectionsCheckingInterval: 500,
      // above the idle timeout of common load balancers, so we never close a connection the proxy is about to reuse
      keepAliveTimeout: 75_000,
      // checked by the application, which answers with a body
      requireHostHeader: false,
    },
    answer,
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.on('checkExpectation', answer);
  server.on('clientError', answerClientError);
  return server;
}

/** Whether the connection closes after this answer. */
function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || String(response.getHeader('connection')).toLowerCase() === 'close';
}

/**
 * A connection that is closed while its client still sends is reset, and the client may lose the answer (RFC 9112, 9.6): it is closed
 * when the body has come. The server's request timeout bounds the wait.
 */
function closeAfterBody(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => {
    socket.end();
    request.once('end', () => socket.destroy());
    request.once('close', () => socket.destroy());
  };
}

const REFUSALS: Record<string, AppError> = {
  HPE_HEADER_OVERFLOW: new AppError(
    'headers_too_large',
    `the request's headers and URL are larger than ${HEADER_BYTES_MAX} bytes in total; send fewer or shorter ones`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new AppError('invalid_request', 'the request took too long to arrive', {
    status: 408,
  }),
};
const MALFORMED = new AppError('invalid_request', 'the request is not valid HTTP');

function answerClientError(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isSlowBodyAllowed(socket)) {
    return;
  }
  const isAnswered = '_httpMessage' in socket && Boolean(socket._httpMessage);
  if (!socket.writable || error.code === 'ECONNRESET' || isAnswered) {
    socket.destroy();
    return;
  }
  const refusal = REFUSALS[error.code ?? ''] ?? MALFORMED;
  const { text: requestId } = requestIdOf(undefined);
  const path = error.rawPacket?.toString('latin1', 0, 200).split(' ', 2)[1] ?? '';
  const body = JSON.stringify(errorBody(refusal, requestId, envelopeOfPath(path)));
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Classes whose instances have the application's prototypes from the start, so that Express, which sets them on every request, finds
 * nothing to change. An object whose prototype was replaced gets a hidden class of its own with each property that is added later
 * (V8 up to 11.3, which is Node 20): nothing that reads such a request could be optimised. Measured together with objects of our own
 * that had the same: a quarter of a call's processor time.
 */
function expressPrototypesOf(app: Express): ExpressPrototypes {
  const made = known.get(app) ?? makePrototypes(app);
  known.set(app, made);
  return made;
}

function makePrototypes(app: Express): ExpressPrototypes {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Express['request'];
  app.response = AppResponse.prototype as unknown as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
