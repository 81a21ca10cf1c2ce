import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, Pool } from 'undici';
import type { CallClocks } from './call-clocks.ts';

export interface HttpClientSettings {
  /** The only server that is asked; without it each call names its own. */
  readonly origin?: string;
  /** Ms for TCP and TLS. */
  readonly connectMs: number;
  /** Connections to one server at once. */
  readonly connections?: number;
  /** Each call gets a new connection: one that the server is just closing would leave in doubt what it did. */
  readonly isSingleUse?: boolean;
  /** Resolves the names of servers, e.g. to public addresses only. */
  readonly lookup?: LookupFunction;
  /** Ms from the end of a request to the head of its answer, for bodies that take long to send; else the call's clocks alone count. */
  readonly answerMs?: number;
  /** Ms between two pieces of an answer that is read when the call's clocks have stopped. */
  readonly idleMs?: number;
}

/** A call to a server, whose clocks are the caller's to stop. */
export interface HttpCall {
  readonly origin?: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Dispatcher.DispatchOptions['body'];
}

export type HttpAnswer = Dispatcher.ResponseData;

/** HTTP to servers that are not ours: the only place that opens connections to them for calls. Follows no redirect. Owns its connections. */
export class HttpClient {
  readonly #dispatcher: Dispatcher;

  constructor(settings: HttpClientSettings) {
    const { origin, connectMs, connections, lookup, isSingleUse, answerMs = 0, idleMs = 0 } = settings;
    const options = {
      ...(connections === undefined ? {} : { connections }),
      ...(isSingleUse && { pipelining: 0 }),
      connect: { timeout: connectMs, ...(lookup && { lookup }) },
      headersTimeout: answerMs,
      bodyTimeout: idleMs,
    };
    this.#dispatcher = origin === undefined ? new Agent(options) : new Pool(origin, options);
  }

  /**
   * Resolves with the head of an answer of any status; its body is the caller's to read or destroy. Throws TransportError, and the
   * reason of the clocks' parent.
   */
  async request(call: HttpCall, clocks: CallClocks): Promise<HttpAnswer> {
    try {
      return await this.#dispatcher.request({ ...call, signal: clocks.signal });
    } catch (error) {
      throw clocks.explain(error);
    }
  }

  /** Destroys all connections; calls in flight fail. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}
