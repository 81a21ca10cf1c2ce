import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import type { CallTimeouts } from './call-timeouts.ts';

export interface HttpClientSettings {
  /** The only server this client calls. Without it, each call names its own. */
  readonly origin?: string;
  /** Timeout for TCP and TLS connection setup, in ms. */
  readonly connectMs: number;
  /** Maximum concurrent connections to one server. */
  readonly connections?: number;
  /**
   * Uses a new connection for each call. A reused one may be closing on the server's side, which would leave unclear whether the server
   * acted.
   */
  readonly isSingleUse?: boolean;
  /** Resolves server names, for example to public addresses only. */
  readonly lookup?: LookupFunction;
  /**
   * Timeout from the end of a request to the response headers, in ms, for bodies that take long to send. Otherwise only the call's own
   * timeouts apply.
   */
  readonly answerMs?: number;
  /** Takes an unasked `100 Continue` as what it is, on connections whose response bodies nobody reads. */
  readonly skipsContinue?: boolean;
  /** Maximum gap between two chunks of a response that is still read after the call's timeouts were stopped, in ms. */
  readonly idleMs?: number;
}

/** A call to a server. The caller stops its timeouts. */
export interface HttpCall {
  readonly origin?: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Dispatcher.DispatchOptions['body'];
}

export type HttpAnswer = Dispatcher.ResponseData;

/** The start of an answer to `Expect: 100-continue`, up to the digit that makes it another informational status. */
const CONTINUE = Buffer.from('HTTP/1.1 100');
const LAST_DIGIT = CONTINUE.length - 1;
const AS_PROCESSING = '2'.charCodeAt(0);

/**
 * HTTP client for servers other than our own, and the only place that opens connections to them for calls. Follows no redirects. Owns its
 * connections.
 */
export class HttpClient {
  readonly #dispatcher: Dispatcher;

  constructor(settings: HttpClientSettings) {
    const { origin, connectMs, connections, lookup, isSingleUse, answerMs = 0, idleMs = 0 } = settings;
    const connect = { timeout: connectMs, ...(lookup && { lookup }) };
    const options = {
      ...(connections === undefined ? {} : { connections }),
      ...(isSingleUse && { pipelining: 0 }),
      connect: settings.skipsContinue ? connectorForContinue(connect) : connect,
      headersTimeout: answerMs,
      bodyTimeout: idleMs,
    };
    this.#dispatcher = origin === undefined ? new Agent(options) : new Pool(origin, options);
  }

  /**
   * Resolves with the head of a response of any status. The caller must read or destroy its body. Throws TransportError, or the reason of
   * the parent signal.
   */
  async request(call: HttpCall, clocks: CallTimeouts): Promise<HttpAnswer> {
    try {
      return await this.#dispatcher.request({ signal: clocks.signal, ...call });
    } catch (error) {
      throw clocks.explain(error);
    }
  }

  /** Destroys all connections. Calls in flight fail. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/**
 * Opens connections on which a server may send `100 Continue` unasked, as some do and RFC 9110 allows. undici destroys a connection on it,
 * but skips the other informational statuses: it is shown 102 instead. Only where nobody reads the body, which could begin with the same
 * bytes.
 */
function connectorForContinue(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) {
        callback(error, null);
      } else {
        callback(null, skipContinue(socket));
      }
    });
}

function skipContinue<Connection extends Socket>(socket: Connection): Connection {
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (Buffer.isBuffer(chunk) && chunk.subarray(0, CONTINUE.length).equals(CONTINUE)) {
      chunk[LAST_DIGIT] = AS_PROCESSING;
    }
    return chunk;
  };
  return socket;
}
