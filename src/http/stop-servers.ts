import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { unlinkSocket } from '../processes/socket-file.ts';

/** A turn of the event loop this short had nothing to do, in ms. */
const QUIET_TURN_MS = 0.2;
/** Maximum number of turns without a quiet one, after which even a process that is never quiet stops listening. */
const TURNS_MAX = 2_000;
/** Time for clients that found the socket's file before it was unlinked to connect, in ms. */
const SOCKET_GRACE_MS = 100;
/** Interval between checks for connections that have become idle, in ms. */
const IDLE_CHECK_MS = 250;

export interface StopOptions {
  /** Time that calls on accepted connections get to finish, in ms. */
  readonly drainMs: number;
  /** Whether these servers remove the files of their sockets. */
  readonly ownsSocket?: boolean;
}

/** Stops listening, lets calls on accepted connections finish, calls `endCalls` for the rest, and closes every connection. */
export async function stopServers(
  servers: readonly Server[],
  { drainMs, ownsSocket = true }: StopOptions,
  endCalls: () => Promise<void>,
): Promise<void> {
  await Promise.all(servers.map((server) => untilNobodyWaits(server, ownsSocket)));
  const closed = Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  // responses that began before the shutdown did not ask their clients to disconnect
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
 * Waits until no connection is left to accept. Closing a listening socket resets the connections that the kernel has completed but this
 * process has not yet accepted; a proxy has already sent its request on them and would not retry it. A socket with a file is unlinked
 * first, so that no more clients arrive. A port cannot be hidden: it is closed in a turn of the event loop that accepted no connection,
 * which leaves a gap of some microseconds.
 */
async function untilNobodyWaits(server: Server, ownsSocket: boolean): Promise<void> {
  const address = server.address();
  if (typeof address === 'string' && ownsSocket) {
    unlinkSocket(address);
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
