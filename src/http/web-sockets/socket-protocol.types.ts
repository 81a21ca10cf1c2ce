import type { IncomingMessage } from 'node:http';
import type { AppError } from '../../lib/errors.ts';

/** One open socket, as the protocol that is spoken over it sees it. */
export interface OpenSocket {
  readonly accountId: string;
  /** Aborts when the socket has closed. */
  readonly signal: AbortSignal;
  /** Sends a message. Resolves when the client has kept up. */
  send(text: string): Promise<void>;
  /** POSTs JSON text, in pieces, to the path of the handshake, with its headers. */
  post(body: readonly string[]): Promise<IncomingMessage>;
}

/** What is spoken over the WebSockets of one path. */
export interface SocketProtocol {
  /** Returns the function that handles each message of a new socket; it must not reject. */
  opened(socket: OpenSocket): (message: Buffer) => Promise<void>;
  /** Returns the message that reports an error. */
  errorMessage(error: AppError): string;
}
