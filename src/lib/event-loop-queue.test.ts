import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, connect as open, type Socket } from 'node:net';
import { AppError } from './errors.ts';
import { EventLoopQueue } from './event-loop-queue.ts';

/** Blocks for `ms` in each of `count` steps and calls `onStep` after it. */
function* steps(
  count: number,
  ms: number,
  onStep: () => void = () => undefined,
): Generator<undefined, string> {
  for (let step = 0; step < count; step += 1) {
    const until = performance.now() + ms;
    while (performance.now() < until) {
      // blocking is the point
    }
    onStep();
    if (step < count - 1) {
      yield undefined;
    }
  }
  return 'done';
}

test('runs work at once when nothing is waiting', () => {
  const turns = new EventLoopQueue();
  let done = false;
  void turns.run(
    'a',
    steps(1, 0, () => (done = true)),
  );
  expect(done).toBe(true);
});

test('size is the amount of unfinished work', async () => {
  const turns = new EventLoopQueue();
  const works = ['a', 'a', 'b'].map((account) => turns.run(account, steps(2, 6)));
  expect(turns.size).toBe(3);
  await Promise.all(works);
  expect(turns.size).toBe(0);
});

test('runs work in order of arrival, only a little per turn', async () => {
  const turns = new EventLoopQueue();
  const order: number[] = [];
  let turn = 0;
  let isOver = false;
  const workedIn: number[] = [];
  const count = (): void => {
    turn += 1;
    if (!isOver) {
      setImmediate(count);
    }
  };
  setImmediate(count);
  await Promise.all(
    [0, 1, 2, 3, 4, 5].map((number) =>
      turns.run(
        'a',
        steps(2, 6, () => {
          order.push(number);
          workedIn.push(turn);
        }),
      ),
    ),
  );
  isOver = true;
  expect(order).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  // a step of 6 ms fills a turn
  expect(new Set(workedIn).size).toBeGreaterThanOrEqual(11);
});

test('rethrows errors of the work, and the next in line continues', async () => {
  const turns = new EventLoopQueue();
  // biome-ignore lint/correctness/useYield: it throws before it could yield
  function* failing(): Generator<undefined, string> {
    throw new AppError('context_length_exceeded', 'too long');
  }
  const [blocking, failed, next] = await Promise.allSettled([
    turns.run('a', steps(1, 10)),
    turns.run('a', failing()),
    turns.run('a', steps(1, 0)),
  ]);
  expect(blocking.status).toBe('fulfilled');
  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'context_length_exceeded' } });
  expect(next).toMatchObject({ status: 'fulfilled', value: 'done' });
});

test('does not start work of a client that has disconnected', async () => {
  const turns = new EventLoopQueue();
  const client = new AbortController();
  let steppedFor = 0;
  const first = turns.run('a', steps(3, 6));
  const left = turns.run(
    'a',
    steps(1, 0, () => {
      steppedFor += 1;
    }),
    client.signal,
  );
  client.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await first;
  expect(steppedFor).toBe(0);
});

test('rejects work that waits too long, but not work that has started', async () => {
  let now = 0;
  const turns = new EventLoopQueue(() => now);
  const slow = turns.run(
    'a',
    (function* () {
      for (let step = 0; step < 4; step += 1) {
        now += 2_500;
        yield undefined;
      }
      return 'done';
    })(),
  );
  const waiting = turns.run('a', steps(1, 0));
  const refused = expect(waiting).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfterSeconds: 1,
  });
  await expect(slow).resolves.toBe('done');
  await refused;
});

test("an account's long work waits for the short work of others after each step", async () => {
  const turns = new EventLoopQueue();
  const order: string[] = [];
  const work = (account: string, count: number) =>
    turns.run(
      account,
      steps(count, 6, () => order.push(account)),
    );
  await Promise.all([work('a', 4), work('a', 4), work('b', 1), work('c', 1)]);
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'a', 'a', 'a', 'a', 'a']);
});

test('work yields until the waiting connections are accepted', async () => {
  const turns = new EventLoopQueue();
  const CONNECTIONS = 40;
  let accepted = 0;
  const server = createServer(() => {
    accepted += 1;
    turns.connectionOpened();
  }).listen({ port: 0, host: '127.0.0.1', backlog: 64 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = Array.from({ length: CONNECTIONS }, () => open(port, '127.0.0.1'));
  const seen: number[] = [];
  try {
    await Promise.all(
      Array.from({ length: 20 }, () =>
        turns.run(
          'a',
          steps(1, 8, () => void seen.push(accepted)),
        ),
      ),
    );
    // without yielding, one per turn: 20
    expect(seen.at(-1)).toBeGreaterThan(30);
  } finally {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
    await once(server, 'close');
  }
});
