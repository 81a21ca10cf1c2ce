import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** An address that leads to one server now and to another one later, like a DNS name, a virtual address or a load balancer. */
export interface MovingAddress {
  readonly port: number;
  /** Directs new connections to this port. Existing ones stay where they are. */
  move(targetPort: number): void;
  /** Silences existing connections without closing them, as when a host loses power. New ones work. */
  vanish(): void;
  /** Delays what the server sends from now on by this many ms. 0 sends at once. */
  delay(ms: number): void;
  close(): Promise<void>;
}

export async function startMovingAddress(targetPort: number): Promise<MovingAddress> {
  let target = targetPort;
  let delayMs = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const sever = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', sever);
      socket.on('close', () => {
        sockets.delete(socket);
        sever();
      });
    }
    client.pipe(upstream);
    // keeps the order, even just after a delay has ended
    let late = 0;
    let told: Promise<unknown> = Promise.resolve();
    const tell = (act: () => void) => {
      if (delayMs === 0 && late === 0) {
        act();
        return;
      }
      late += 1;
      told = Promise.all([told, setTimeout(delayMs)]).then(() => {
        late -= 1;
        act();
      });
    };
    upstream.on('data', (chunk) => tell(() => client.writable && client.write(chunk)));
    upstream.once('end', () => tell(() => client.end()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    move: (port) => {
      target = port;
    },
    vanish: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    delay: (ms) => {
      delayMs = ms;
    },
    close: async () => {
      for (const socket of sockets) {
        socket.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
