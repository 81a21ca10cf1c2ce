import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { AppError } from '../lib/errors.ts';
import { endWithError } from './answers/raw-error.ts';
import { dropUnread, hasBody } from './input/request-body.ts';
import { isSlowBodyAllowed } from './input/slow-body.ts';

/** The classes that the requests and responses of one application are instances of. */
interface ExpressPrototypes {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

const known = new WeakMap<Express, ExpressPrototypes>();

const HEADER_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 10_000;

/**
 * Creates the HTTP server with the limits that a public port needs. Requests that Node itself rejects are also answered in the envelope.
 * `listener` runs in front of the application, if given.
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
      // how late the two timeouts above may fire; short, because all requests overdue by then are rejected in one turn of the event loop
      connectionsCheckingInterval: 500,
      // above the idle timeout of common load balancers, so we never close a connection the proxy is about to reuse
      keepAliveTimeout: 75_000,
      // the application checks it and answers with a body
      requireHostHeader: false,
    },
    answer,
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.on('checkExpectation', answer);
  server.on('clientError', answerClientError);
  return server;
}

/** Returns whether the connection closes after this response. */
function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || String(response.getHeader('connection')).toLowerCase() === 'close';
}

/**
 * Delays the close until the body has arrived: closing while the client still sends resets the connection, and the client may lose the
 * answer (RFC 9112, 9.6). The server's request timeout bounds the wait.
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
  const path = error.rawPacket?.toString('latin1', 0, 200).split(' ', 2)[1] ?? '';
  endWithError(socket, refusal, path);
}

/**
 * Returns classes whose instances have the application's prototypes from the start, so that Express, which sets them on every request,
 * changes nothing. An object whose prototype was replaced gets its own hidden class with each property added later (V8 up to 11.3, i.e.
 * Node 20), and code that reads such a request cannot be optimized. Together with other objects that had the same problem, this took a
 * quarter of a call's CPU time (measured).
 */
function expressPrototypesOf(app: Express): ExpressPrototypes {
  const made = known.get(app) ?? makePrototypes(app);
  known.set(app, made);
  return made;
}

/** Whether a request wants to change the protocol of its connection. */
const ASKS_TO_UPGRADE = Symbol('asks to upgrade');

/** Returns whether a request wants to open a WebSocket (RFC 6455, 4.1). */
function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Makes the classes. A server with WebSockets would get every request to change the protocol as an upgrade, without a body, and Java's
 * client asks for HTTP/2 with each first request. Node reads `upgrade` back after setting it, so that is where this is decided.
 */
function makePrototypes(app: Express): ExpressPrototypes {
  class AppRequest extends IncomingMessage {
    declare [ASKS_TO_UPGRADE]: boolean | null;

    get upgrade(): boolean {
      return this[ASKS_TO_UPGRADE] === true && asksForWebSocket(this);
    }
    set upgrade(asks: boolean | null) {
      this[ASKS_TO_UPGRADE] = asks;
    }
  }
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Express['request'];
  app.response = AppResponse.prototype as unknown as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
