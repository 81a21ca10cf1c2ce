import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, Pool } from 'undici';
import type { CallTimeouts } from './call-timeouts.ts';
import { connectorForContinue } from './continue-answers.ts';

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
