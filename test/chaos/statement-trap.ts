import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { MessageSplitter, statementOf } from './postgres-messages.ts';

/** The statement at which a process dies, and on which side of it. */
export interface Trap {
  /** Matches the name of a prepared statement, or the beginning of the text of an unnamed one. */
  readonly statement: RegExp;
  /** Matches its parameters as sent over the wire. */
  readonly holding?: RegExp;
  /** `unsent`: Postgres never receives it; `unheard`: it has committed, and the process never receives the reply. */
  readonly side: 'unsent' | 'unheard';
}

/** A proxy to Postgres for one process. */
export interface StatementTrap {
  readonly port: number;
  /** Triggers once: at the next matching statement it calls `strike` and blocks that connection. */
  arm(trap: Trap, strike: () => void): void;
  disarm(): void;
  close(): Promise<void>;
}

interface ArmedTrap extends Trap {
  readonly strike: () => void;
}

const READY_FOR_QUERY = 'Z';

/** Forwards everything to Postgres on this port of the loopback address, and reads the statements. */
export async function openStatementTrap(postgresPort: () => number): Promise<StatementTrap> {
  let armed: ArmedTrap | undefined;
  const sockets = new Set<Socket>();
  const take = (message: { type: string; body: Buffer }): ArmedTrap | undefined => {
    const trap = armed;
    const statement = trap && statementOf(message);
    if (trap === undefined || statement === undefined || !trap.statement.test(statement)) {
      return undefined;
    }
    if (trap.holding !== undefined && !trap.holding.test(message.body.toString('latin1'))) {
      return undefined;
    }
    armed = undefined;
    return trap;
  };
  const server = createServer((client) => {
    const target = connect(postgresPort(), '127.0.0.1');
    const [questions, replies] = [new MessageSplitter('client'), new MessageSplitter('server')];
    let isShut = false;
    let awaited: ArmedTrap | undefined;
    const sever = () => {
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', sever);
      socket.on('close', () => {
        sockets.delete(socket);
        sever();
      });
    }
    client.on('data', (chunk) => {
      for (const message of questions.push(chunk)) {
        const trap = take(message);
        if (trap?.side === 'unsent') {
          isShut = true;
          trap.strike();
        }
        awaited ??= trap;
      }
      if (!isShut) {
        target.write(chunk);
      }
    });
    target.on('data', (chunk) => {
      const messages = replies.push(chunk);
      if (awaited === undefined) {
        client.write(chunk);
      } else if (!isShut && messages.some(({ type }) => type === READY_FOR_QUERY)) {
        isShut = true;
        awaited.strike();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    arm: (trap, strike) => {
      armed = { ...trap, strike };
    },
    disarm: () => {
      armed = undefined;
    },
    close: () => {
      for (const socket of sockets) {
        socket.destroy();
      }
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
