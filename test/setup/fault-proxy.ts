import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface FaultProxy {
  readonly port: number;
  /** Returns how many replies were cut. */
  readonly cuts: () => number;
  /** Changes the probability that a reply is withheld. */
  cutReplies(chance: number): void;
  /** Breaks all connections now. */
  sever(): void;
  /** Blocks traffic in both directions without breaking connections, like a network that drops packets. */
  freeze(): void;
  /** Lets the held traffic through, and all that follows. */
  thaw(): void;
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  readonly targetHost: string;
  readonly targetPort: number;
  /** Probability that a reply is withheld and its connection broken: the server has acted, but the client never learns of it. */
  readonly cutReplyChance: number;
}

/** The first replies of a connection belong to its setup (authentication, parameters). Cutting those proves nothing. */
const QUIET_REPLIES = 3;

/** Starts a TCP proxy that loses replies after the server has acted on the request, or freezes. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let { cutReplyChance } = options;
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
      if (replies > QUIET_REPLIES && Math.random() < cutReplyChance) {
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
    cutReplies: (chance) => {
      cutReplyChance = chance;
    },
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
