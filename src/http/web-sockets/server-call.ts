import { type IncomingHttpHeaders, type IncomingMessage, request, type Server } from 'node:http';
import { Duplex } from 'node:stream';

export interface ServerCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** JSON text, in pieces. */
  readonly body: readonly string[];
  /** Address of the client that the call is made for. */
  readonly address: string | undefined;
  /** Aborts the call as a client does that disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Makes a POST to this process's own server through memory, as if the client had sent it: every limit, log line and charge is that of a
 * request over HTTP. Returns the response once its head is there. Rejects with the signal's reason when it aborts.
 */
export function callServer(server: Server, call: ServerCall): Promise<IncomingMessage> {
  const length = call.body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  return new Promise((resolve, reject) => {
    const sent = request({
      method: 'POST',
      path: call.path,
      headers: { ...call.headers, 'content-type': 'application/json', 'content-length': length },
      createConnection: () => connect(server, call.address),
      signal: call.signal,
    });
    sent.once('response', resolve).on('error', reject);
    for (const piece of call.body) {
      sent.write(piece);
    }
    sent.end();
  });
}

/** Returns the client's end of a new connection to the server. */
function connect(server: Server, remoteAddress: string | undefined): Duplex {
  const [near, far] = [new ConnectionEnd(), new ConnectionEnd()];
  near.other = far;
  far.other = near;
  server.emit('connection', Object.assign(far, { remoteAddress }));
  return near;
}

/** One end of a connection through memory: what is written to it can be read from the other end. */
class ConnectionEnd extends Duplex {
  other: ConnectionEnd | undefined;
  /** Completes the other end's last write once there is room. */
  #written: ((error?: Error) => void) | undefined;

  override _read(): void {
    this.#complete();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    const { other } = this;
    if (!other || other.destroyed) {
      done(new Error('the other end of the connection is closed'));
    } else if (other.push(chunk)) {
      done();
    } else {
      other.#written = done;
    }
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#complete();
    // like a reset: an end that had said everything leaves the other one to read it
    if (!this.writableFinished) {
      this.other?.destroy();
    }
    done(error);
  }

  #complete(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }
}
