import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';
import { clientNetwork } from '../callers/client-network.ts';

/** Time in which the first request of a new connection may arrive, in ms: in a burst, many have arrived but are still unread. */
const GRACE_MS = 3_000;
/** When an address has more idle connections than this multiple of its limit, they get no grace. */
const BURST = 20;

export interface UnauthenticatedConnectionsOptions {
  /** Maximum number of idle connections per address; Infinity to count none. */
  readonly perAddress: number;
  readonly registry: Registry;
  /** Monotonic, in ms. */
  readonly now: () => number;
}

interface Stranger {
  readonly network: string;
  /** Requests on the connection that have not been answered yet. */
  pending: number;
  /** The response that tells the client to close the connection. */
  told: ServerResponse | undefined;
}

/**
 * Limits what strangers keep open: per address, only so many of the connections on which no valid key has been shown may be idle. Beyond
 * that, responses tell their clients that the connection closes, and the connections that were idle the longest are closed as new ones
 * arrive.
 */
export class UnauthenticatedConnections {
  readonly #options: UnauthenticatedConnectionsOptions;
  readonly #strangers = new WeakMap<Socket, Stranger>();
  /** By network: the time at which each connection became idle, longest idle first. The server's connection limit bounds both maps. */
  readonly #idle = new Map<string, Map<Socket, number>>();
  readonly #closed: Counter;

  constructor(options: UnauthenticatedConnectionsOptions) {
    this.#options = options;
    const idle = this.#idle;
    new Gauge({
      name: 'tollgate_http_stranger_connections',
      help: 'Idle connections on which no valid key was shown yet; not counted behind a trusted proxy',
      registers: [options.registry],
      collect() {
        this.set([...idle.values()].reduce((sum, connections) => sum + connections.size, 0));
      },
    });
    this.#closed = new Counter({
      name: 'tollgate_http_stranger_connections_closed_total',
      help: 'Connections closed because their address kept too many idle ones without showing a valid key',
      registers: [options.registry],
    });
  }

  /** Registers a connection that the server accepted. A connection without an address came through a Unix socket, i.e. from a proxy. */
  opened(connection: Socket): void {
    const { remoteAddress } = connection;
    if (!Number.isFinite(this.#options.perAddress) || remoteAddress === undefined) {
      return;
    }
    const stranger: Stranger = { network: clientNetwork(remoteAddress), pending: 0, told: undefined };
    this.#strangers.set(connection, stranger);
    connection.once('close', () => this.#forget(connection, stranger));
    this.#rest(connection, stranger);
    this.#closeOldest(stranger.network);
  }

  /** Lifts the limit from a connection on which a valid key arrived. */
  proven(connection: Socket): void {
    const stranger = this.#strangers.get(connection);
    if (stranger) {
      if (stranger.told?.headersSent === false) {
        stranger.told.removeHeader('Connection');
      }
      this.#forget(connection, stranger);
    }
  }

  /** Wraps a listener to track which connections are in use. */
  watched(listener: RequestListener): RequestListener {
    return (request, response) => {
      const stranger = this.#strangers.get(request.socket);
      if (stranger) {
        this.#begin(request.socket, stranger, response);
      }
      listener(request, response);
    };
  }

  #begin(connection: Socket, stranger: Stranger, response: ServerResponse): void {
    stranger.pending += 1;
    this.#unrest(connection, stranger);
    const idle = this.#idle.get(stranger.network)?.size ?? 0;
    if (idle >= this.#options.perAddress && !response.hasHeader('Connection')) {
      response.setHeader('Connection', 'close');
      stranger.told = response;
    }
    response.once('close', () => {
      stranger.pending -= 1;
      if (this.#strangers.get(connection) !== stranger) {
        return;
      }
      if (stranger.told === response) {
        this.#closed.inc();
        this.#forget(connection, stranger);
      } else if (stranger.pending === 0 && !connection.destroyed) {
        this.#rest(connection, stranger);
      }
    });
  }

  #closeOldest(network: string): void {
    const { perAddress, now } = this.#options;
    const idle = this.#idle.get(network);
    for (const [connection, since] of idle ?? []) {
      const count = idle?.size ?? 0;
      const isYoung = now() - since < GRACE_MS && count <= perAddress * BURST;
      if (count <= perAddress || isYoung) {
        return;
      }
      this.#closed.inc();
      idle?.delete(connection);
      connection.destroy();
    }
  }

  #rest(connection: Socket, { network }: Stranger): void {
    const idle = this.#idle.get(network) ?? new Map<Socket, number>();
    idle.set(connection, this.#options.now());
    this.#idle.set(network, idle);
  }

  #unrest(connection: Socket, { network }: Stranger): void {
    const idle = this.#idle.get(network);
    if (idle?.delete(connection) && idle.size === 0) {
      this.#idle.delete(network);
    }
  }

  #forget(connection: Socket, stranger: Stranger): void {
    this.#strangers.delete(connection);
    this.#unrest(connection, stranger);
  }
}
