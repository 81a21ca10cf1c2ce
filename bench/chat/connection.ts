import { connect, type Socket } from 'node:net';

/** Silence after which a call fails, in ms. Longer than the pauses between calls. */
const SILENCE_MS = 60_000;
const HEAD_END = '\r\n\r\n';

export interface Answer {
  readonly status: number;
  /** Header lines and body as received; the body still has its chunk framing. */
  readonly head: string;
  readonly body: string;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  readonly onBody: ((body: string) => void) | undefined;
}

/**
 * A connection that carries one call at a time. It implements only the HTTP these calls need, because the load generator takes its
 * processor time from the programs it measures.
 */
export class Connection {
  readonly #socket: Socket;
  #text = '';
  #waiting: Waiting | undefined;
  #isOpen = true;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding('latin1').setTimeout(SILENCE_MS, () => this.#socket.destroy());
    this.#socket.on('data', (part: unknown) => this.#take(String(part)));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed before the answer')));
    this.#socket.on('end', () => {
      this.#isOpen = false;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a complete request. Calls `onBody` with the body so far whenever more of it arrives. Throws when no answer comes. */
  call(request: Buffer, onBody?: (body: string) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, onBody };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(part: string): void {
    this.#text += part;
    const bodyAt = this.#text.indexOf(HEAD_END) + HEAD_END.length;
    if (bodyAt < HEAD_END.length || this.#waiting === undefined) {
      return;
    }
    const head = this.#text.slice(0, bodyAt);
    const body = this.#text.slice(bodyAt);
    const { resolve, onBody } = this.#waiting;
    onBody?.(body);
    if (isWhole(head, body)) {
      this.#waiting = undefined;
      this.#text = '';
      this.#isOpen &&= !/^connection: close/im.test(head);
      resolve({ status: Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)), head, body });
    }
  }

  #fail(error: Error): void {
    this.#isOpen = false;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

function isWhole(head: string, body: string): boolean {
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  return length === undefined ? /(^|\r\n)0\r\n\r\n$/.test(body.slice(-8)) : body.length >= Number(length);
}

/** Returns the text of a stream without its chunk framing. */
export function bodyText({ head, body }: Answer): string {
  if (/^content-length:/im.test(head)) {
    return body;
  }
  let text = '';
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.slice(at, lineEnd), 16);
    text += body.slice(lineEnd + 2, lineEnd + 2 + length);
    at = lineEnd + 2 + length + 2;
  }
  return text;
}
