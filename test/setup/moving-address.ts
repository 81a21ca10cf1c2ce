import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** An address that leads to one server now and to another later, as a DNS name, a virtual address or a balancer does. */
export interface MovingAddress {
  readonly port: number;
  /** New connections end at this port; old ones stay where they are. */
  move(targetPort: number): void;
  /** Old connections stay open and say nothing more, as when a host loses its power; new ones work. */
  vanish(): void;
  /** From now on what the server says comes so many ms late; 0: at once. */
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
    // in order also when the delay has just ended
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
