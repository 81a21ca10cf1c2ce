import { unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** A turn of the event loop as short as this had nothing to do, in ms. */
const QUIET_TURN_MS = 0.2;
/** Turns that may pass without a quiet one; a process that is never quiet has to stop listening some time. */
const TURNS_MAX = 2_000;
/** Ms within which clients that found the socket's file before it was unlinked have connected. */
const SOCKET_GRACE_MS = 100;
/** Ms between two looks for connections that have become idle. */
const IDLE_CHECK_MS = 250;

export interface StopOptions {
  /** Ms that what runs on accepted connections may go on. */
  readonly drainMs: number;
  /** Whether the files of sockets are for these servers to remove. */
  readonly ownsSocket?: boolean;
}

/** Stops listening, lets what runs on accepted connections go on, has `endCalls` end the rest, and closes every connection. */
export async function stopServers(
  servers: readonly Server[],
  { drainMs, ownsSocket = true }: StopOptions,
  endCalls: () => Promise<void>,
): Promise<void> {
  await Promise.all(servers.map((server) => untilNobodyWaits(server, ownsSocket)));
  const closed = Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  // answers that began before the shutdown did not tell their clients to leave
  const idle = setInterval(() => servers.map((server) => server.closeIdleConnections()), IDLE_CHECK_MS);
  const waiting = new AbortController();
  await Promise.race([closed, pause(drainMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
  waiting.abort();
  await endCalls();
  clearInterval(idle);
  for (const server of servers) {
    server.closeAllConnections();
  }
  await closed;
}

/**
 * To close a listening socket resets the connections that the kernel has completed and this process has not yet taken; a proxy has
 * sent its request on them and would not repeat it. A socket with a file goes out of reach first, so that nobody is left. A port
 * cannot: it is closed in a turn of the event loop that found no new connection, which leaves some microseconds.
 */
async function untilNobodyWaits(server: Server, ownsSocket: boolean): Promise<void> {
  const address = server.address();
  if (typeof address === 'string' && ownsSocket) {
    await unlink(address).catch(() => undefined);
    await pause(SOCKET_GRACE_MS);
  }
  let connections = 0;
  const count = () => {
    connections += 1;
  };
  server.on('connection', count);
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const seen = connections;
    const startedAt = performance.now();
    await nextTurn();
    if (connections === seen && performance.now() - startedAt < QUIET_TURN_MS) {
      break;
    }
  }
  server.off('connection', count);
}
