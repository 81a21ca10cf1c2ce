import fc from 'fast-check';
import { QueueCapacity } from './queue-capacity.ts';

/** A queue of one account that records how often it was counted. */
class CountedQueue {
  waiting = 0;
  counts = 0;

  countQueued(_pool: string, _account: string, most: number): Promise<number> {
    this.counts += 1;
    return Promise.resolve(Math.min(this.waiting, most));
  }

  async order(room: QueueCapacity, most: number): Promise<boolean> {
    const fits = await room.take('pool', 'account', most);
    this.waiting += fits ? 1 : 0;
    return fits;
  }
}

test('one process never lets more tasks wait than allowed, in any sequence of orders, ends and pauses', async () => {
  const step = fc.oneof(
    fc.record({ orders: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ ended: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ pauseMs: fc.integer({ min: 1, max: 3_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000 }),
      fc.array(step, { maxLength: 20 }),
      async (most, steps) => {
        let now = 0;
        const queue = new CountedQueue();
        const room = new QueueCapacity(queue, () => now);
        let waitedMost = 0;
        for (const next of steps) {
          if ('pauseMs' in next) {
            now += next.pauseMs;
          } else if ('ended' in next) {
            queue.waiting = Math.max(0, queue.waiting - next.ended);
          } else {
            for (let order = 0; order < next.orders; order += 1) {
              await queue.order(room, most);
              waitedMost = Math.max(waitedMost, queue.waiting);
            }
          }
        }
        expect(waitedMost).toBeLessThanOrEqual(most);
        now += 3_000;
        const isFull = queue.waiting >= most;
        expect(await queue.order(room, most)).toBe(!isFull);
      },
    ),
    { numRuns: 200 },
  );
});

test('a thousand orders cost fewer than fifty counts', async () => {
  const queue = new CountedQueue();
  const room = new QueueCapacity(queue, () => 0);
  for (let order = 0; order < 990; order += 1) {
    expect(await queue.order(room, 1_000)).toBe(true);
  }
  expect(queue.counts).toBeLessThan(50);
});

test('four processes together let at most three eighths more wait', async () => {
  const queue = new CountedQueue();
  const rooms = Array.from({ length: 4 }, () => new QueueCapacity(queue, () => 0));
  for (let round = 0; round < 2_000; round += 1) {
    await Promise.all(rooms.map((room) => queue.order(room, 1_000)));
  }
  expect(queue.waiting).toBeGreaterThanOrEqual(1_000);
  expect(queue.waiting).toBeLessThanOrEqual(1_375);
});

test('concurrent orders share a count, and no more pass than there are free places and orders on their way', async () => {
  const queue = new CountedQueue();
  const room = new QueueCapacity(queue, () => 0);
  await Promise.all(Array.from({ length: 400 }, () => queue.order(room, 100)));
  // the last places are given away one at a time: of two orders, one may be on its way while the next is counted
  expect([100, 101]).toContain(queue.waiting);
  expect(queue.counts).toBeLessThan(60);
});

test('a failed count fails the orders that wait for it, and the next order counts again', async () => {
  const queue = new CountedQueue();
  const broken = { countQueued: () => Promise.reject(new Error('the database is away')) };
  let current: typeof broken | CountedQueue = broken;
  const room = new QueueCapacity({ countQueued: (...of) => current.countQueued(...of) }, () => 0);
  const failed = await Promise.allSettled([room.take('pool', 'account', 5), room.take('pool', 'account', 5)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  current = queue;
  expect(await room.take('pool', 'account', 5)).toBe(true);
});
