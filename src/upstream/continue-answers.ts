import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** The start of an answer to `Expect: 100-continue`, up to the digit that makes it another informational status. */
const CONTINUE = Buffer.from('HTTP/1.1 100');
const LAST_DIGIT = CONTINUE.length - 1;
const AS_PROCESSING = '2'.charCodeAt(0);

/**
 * Opens connections on which a server may send `100 Continue` unasked, as some do and RFC 9110 allows. undici destroys a connection on it,
 * but skips the other informational statuses: it is shown 102 instead. Only where nobody reads the body, which could begin with the same
 * bytes.
 */
export function connectorForContinue(options: buildConnector.BuildOptions): buildConnector.connector {
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
