import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface FaultProxy {
  readonly port: number;
  /** Replies cut so far. */
  readonly cuts: () => number;
  /** Breaks every connection now. */
  sever(): void;
  /** Lets nothing through in either direction, without breaking anything: a network that swallows packets. */
  freeze(): void;
  /** Lets through what has waited, and all that follows. */
  thaw(): void;
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  readonly targetHost: string;
  readonly targetPort: number;
  /** Chance that a reply is withheld and its connection broken instead: the server has acted, the client never hears. */
  readonly cutReplyChance: number;
}

/** The first replies of a connection belong to connecting (authentication, parameters): cutting those proves nothing. */
const QUIET_REPLIES = 3;

/** A TCP proxy that loses replies after the server has acted on the request, or stands still. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let isFrozen = false;
  const server = createServer((client) => {
    const target = connect(options.targetPort, options.targetHost);
    let replies = 0;
    const sever = () => {
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', sever);
      socket.on('close', () => {
        sockets.delete(socket);
        sever();
      });
    }
    client.on('data', (chunk) => target.write(chunk));
    target.on('data', (chunk) => {
      replies += 1;
      if (replies > QUIET_REPLIES && Math.random() < options.cutReplyChance) {
        cuts += 1;
        sever();
      } else {
        client.write(chunk);
      }
    });
    if (isFrozen) {
      client.pause();
      target.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const forEach = (act: (socket: Socket) => void) => {
    for (const socket of sockets) {
      act(socket);
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    cuts: () => cuts,
    sever: () => forEach((socket) => socket.destroy()),
    freeze: () => {
      isFrozen = true;
      forEach((socket) => socket.pause());
    },
    thaw: () => {
      isFrozen = false;
      forEach((socket) => socket.resume());
    },
    close: () => {
      forEach((socket) => socket.destroy());
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
