import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const patient = new WeakSet<Duplex>();

/** Runs `work` on a request whose body may take longer than the server normally allows. `work` must limit the wait itself. */
export async function allowSlowBody<T>({ socket }: IncomingMessage, work: () => Promise<T>): Promise<T> {
  patient.add(socket);
  try {
    return await work();
  } finally {
    patient.delete(socket);
  }
}

/** Returns whether the request on this connection may send its body slowly. */
export function isSlowBodyAllowed(socket: Duplex): boolean {
  return patient.has(socket);
}
