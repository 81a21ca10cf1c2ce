import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const patient = new WeakSet<Duplex>();

/**
 * Runs `work` on a request whose body may take longer than the server allows ordinary ones. `work` must bound the wait for it
 * by itself.
 */
export async function allowSlowBody<T>({ socket }: IncomingMessage, work: () => Promise<T>): Promise<T> {
  patient.add(socket);
  try {
    return await work();
  } finally {
    patient.delete(socket);
  }
}

/** Whether a request on this connection is being read with patience. */
export function isSlowBodyAllowed(socket: Duplex): boolean {
  return patient.has(socket);
}
