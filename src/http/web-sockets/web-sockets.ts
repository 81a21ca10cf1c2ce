import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Request } from 'express';
import { Gauge, type Registry } from 'prom-client';
import { type WebSocket, WebSocketServer } from 'ws';
import { AppError } from '../../lib/errors.ts';
import { every } from '../../lib/every.ts';
import { type AliasSource, baseUrlAdvice } from '../aliases.ts';
import { endWithError } from '../answers/raw-error.ts';
import { toAppError } from '../answers/send.ts';
import { BODY_BYTES_MAX, type BodyShare } from '../input/body-bytes.ts';
import type { RequestPipeline } from '../request-pipeline.ts';
import type { Route } from '../route.ts';
import { callServer } from './server-call.ts';
import type { SocketProtocol } from './socket-protocol.types.ts';

/** Close codes of RFC 6455 (7.4.1) and its registry. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const TRY_AGAIN_LATER = 1013;

const SOCKETS_PER_ACCOUNT = 100;
const HEARTBEAT_MS = 30_000;
/** Maximum time for one message to arrive, in ms: its bytes count toward those that an account may have in flight. */
const ARRIVAL_MS_MAX = 120_000;
/** Unsent bytes beyond which the sender waits. */
const UNSENT_BYTES_MAX = 1024 * 1024;
/** Time for clients to confirm that their socket closes, in ms. */
const CLOSE_GRACE_MS = 1_000;

/** Headers of the handshake that calls over the socket do not repeat: those of the connection, of one request only, and of browsers. */
const OWN_HEADERS =
  /^(?:sec-websocket-.*|connection|upgrade|keep-alive|transfer-encoding|content-.*|accept-encoding|expect|te|trailer|cookie|origin|idempotency-key|x-request-id)$/;

export interface WebSocketsOptions {
  readonly pipeline: RequestPipeline;
  readonly aliases: AliasSource;
  readonly routes: readonly Route[];
  readonly registry: Registry;
}

/** A socket with what is known about it. */
interface Connection {
  readonly socket: WebSocket;
  readonly accountId: string;
  readonly protocol: SocketProtocol;
  readonly closed: AbortController;
  /** Messages being handled. */
  running: number;
  /** Whether anything came in since the last heartbeat. */
  isAlive: boolean;
  /** The message that is arriving: its share of the bytes in flight, its bytes, and when the first came, in ms of a monotonic clock. */
  share: BodyShare;
  arrivedBytes: number;
  arrivingSince: number | undefined;
}

/**
 * The WebSockets of one process. Each message is handled as a request to the server itself, so everything that holds for requests holds
 * for messages. A socket needs a valid key, and its messages count toward the bytes that the account may have in flight.
 */
export class WebSockets {
  readonly #options: WebSocketsOptions;
  /** By the path of their route. */
  readonly #protocols: ReadonlyMap<string, SocketProtocol>;
  readonly #handshakes = new WebSocketServer({
    noServer: true,
    maxPayload: BODY_BYTES_MAX,
    clientTracking: false,
  });
  readonly #open = new Set<Connection>();
  readonly #heartbeat = every(HEARTBEAT_MS, async () => this.#beat());
  #isLeaving = false;

  constructor(options: WebSocketsOptions) {
    this.#options = options;
    this.#protocols = new Map(
      options.routes.flatMap(({ path, overSocket }) => (overSocket ? [[path, overSocket]] : [])),
    );
    const open = this.#open;
    new Gauge({
      name: 'tollgate_http_web_sockets',
      help: 'Open WebSockets',
      registers: [options.registry],
      collect() {
        this.set(open.size);
      },
    });
  }

  /** Accepts the WebSockets of a server. */
  attach(server: Server): void {
    server.on('upgrade', (request: Request, connection: Socket, head: Buffer) => {
      const refuse = (error: unknown) => endWithError(connection, toAppError(error), request.url);
      connection.on('error', () => connection.destroy());
      this.#accept(server, request, connection, head).catch(refuse);
    });
  }

  /** Closes each socket as soon as it has no call; from now on none is accepted. */
  leave(): void {
    this.#isLeaving = true;
    for (const connection of this.#open) {
      closeIfIdle(connection);
    }
  }

  /** Closes all sockets. */
  async close(): Promise<void> {
    this.leave();
    await this.#heartbeat.close();
    for (const { socket } of this.#open) {
      socket.close(GOING_AWAY, 'the service is stopping');
    }
    const deadline = performance.now() + CLOSE_GRACE_MS;
    while (this.#open.size > 0 && performance.now() < deadline) {
      await pause(10);
    }
    for (const { socket } of this.#open) {
      socket.terminate();
    }
  }

  async #accept(server: Server, request: Request, connection: Socket, head: Buffer): Promise<void> {
    const { pipeline, aliases, routes } = this.#options;
    const [path = ''] = request.url.split('?');
    const resolved = aliases.current().resolve(path);
    const protocol = this.#protocols.get(resolved);
    if (!protocol) {
      const isRoute = routes.some((route) => route.path === resolved);
      const advice = isRoute ? ': send the request over HTTP' : baseUrlAdvice(path, false);
      throw new AppError('route_not_found', `there is no WebSocket at ${path.slice(0, 200)}${advice}`);
    }
    const principal = await pipeline.authenticator.principal(request.headers, request.ip ?? '', false);
    pipeline.onAuthenticatedConnection(connection);
    this.#requireRoom(principal.accountId);
    this.#handshakes.handleUpgrade(request, connection, head, (socket) => {
      this.#opened(server, request, { socket, accountId: principal.accountId, protocol });
    });
  }

  #requireRoom(accountId: string): void {
    if (this.#isLeaving) {
      throw new AppError('service_unavailable', 'this instance is stopping, please retry', {
        retryAfterSeconds: 1,
      });
    }
    const own = [...this.#open].filter((connection) => connection.accountId === accountId);
    if (own.length >= SOCKETS_PER_ACCOUNT) {
      throw new AppError(
        'concurrency_limit_exceeded',
        `this account has ${SOCKETS_PER_ACCOUNT} WebSockets open on this instance: close one, or send requests over HTTP`,
        { retryAfterSeconds: 1 },
      );
    }
  }

  #opened(
    server: Server,
    request: Request,
    { socket, accountId, protocol }: Pick<Connection, 'socket' | 'accountId' | 'protocol'>,
  ): void {
    const closed = new AbortController();
    const connection: Connection = {
      ...{ socket, accountId, protocol, closed },
      running: 0,
      isAlive: true,
      share: this.#share(accountId),
      arrivedBytes: 0,
      arrivingSince: undefined,
    };
    this.#open.add(connection);
    const headers = headersOfCalls(request.headers);
    const handle = protocol.opened({
      accountId,
      signal: closed.signal,
      send: (text) => sent(socket, text),
      post: (body) =>
        callServer(server, {
          path: request.url,
          ...{ headers, body, signal: closed.signal },
          address: request.socket.remoteAddress,
        }),
    });
    // before the socket reads them: after its last byte a message counts as handled
    request.socket.prependListener('data', (bytes: Buffer) => this.#arrived(connection, bytes.length));
    socket.on('ping', (data: Buffer) => noted(connection, data));
    socket.on('pong', (data: Buffer) => noted(connection, data));
    socket.on('message', (message: Buffer) => void this.#handle(connection, handle, message));
    // of the client's own making, such as a message that is too long; the socket closes by itself
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#open.delete(connection);
      connection.share.release();
      closed.abort(new Error('the client closed its WebSocket'));
    });
  }

  #share(accountId: string): BodyShare {
    return this.#options.pipeline.bodyBytes.share(accountId);
  }

  #arrived(connection: Connection, byteCount: number): void {
    connection.isAlive = true;
    connection.arrivedBytes += byteCount;
    connection.arrivingSince ??= performance.now();
    try {
      connection.share.take(byteCount);
    } catch (error) {
      const { socket, protocol } = connection;
      // what it goes on sending would still be kept
      socket.pause();
      socket.send(protocol.errorMessage(toAppError(error)), () => undefined);
      socket.close(TRY_AGAIN_LATER, 'too many bytes in flight');
      setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
    }
  }

  async #handle(
    connection: Connection,
    handle: (message: Buffer) => Promise<void>,
    message: Buffer,
  ): Promise<void> {
    const { share, socket } = connection;
    connection.share = this.#share(connection.accountId);
    connection.arrivedBytes = 0;
    connection.arrivingSince = undefined;
    connection.running += 1;
    try {
      await handle(message);
    } catch (error) {
      this.#options.pipeline.log.error({ error }, 'a message on a WebSocket failed');
      socket.close(INTERNAL_ERROR, 'internal error');
    } finally {
      share.release();
      connection.running -= 1;
      if (this.#isLeaving) {
        closeIfIdle(connection);
      }
    }
  }

  /** Ends sockets whose client is gone, which a connection without traffic does not show, and those that send a message too slowly. */
  #beat(): void {
    const now = performance.now();
    for (const connection of this.#open) {
      const { socket, arrivingSince } = connection;
      if (!connection.isAlive) {
        socket.terminate();
      } else if (arrivingSince !== undefined && now - arrivingSince > ARRIVAL_MS_MAX) {
        socket.close(POLICY_VIOLATION, 'the message took too long to arrive');
      } else {
        connection.isAlive = false;
        socket.ping();
      }
    }
  }
}

/** Header and mask of a client's ping or pong (RFC 6455, 5.2). */
const CONTROL_BYTES = 6;

/** Forgets the bytes of a ping or pong, which belong to no message. */
function noted(connection: Connection, data: Buffer): void {
  connection.arrivedBytes -= CONTROL_BYTES + data.length;
  if (connection.arrivedBytes <= 0) {
    connection.share.release();
    connection.arrivingSince = undefined;
  }
}

function closeIfIdle({ socket, running }: Connection): void {
  if (running === 0) {
    socket.close(GOING_AWAY, 'the service is stopping');
  }
}

function headersOfCalls(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name)));
}

/** Sends a message, and waits if much is unsent. Never rejects: a socket that has closed says so itself. */
function sent(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.bufferedAmount < UNSENT_BYTES_MAX) {
      socket.send(text, () => undefined);
      resolve();
    } else {
      socket.send(text, () => resolve());
    }
  });
}
