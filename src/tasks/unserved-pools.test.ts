import { createLogger } from '../lib/logger.ts';
import { UnservedPools } from './unserved-pools.ts';

function complaints(liveSlots: () => Promise<ReadonlyMap<string, number>>) {
  const lines: string[] = [];
  const write = (line: string): void =>
    void lines.push((JSON.parse(line) as { pools: string[] }).pools.join());
  const pools = new UnservedPools(liveSlots, createLogger({ name: 'test', level: 'warn' }, { write }));
  return { pools, lines };
}

test('orders for a pool without a live worker are logged once, those for others never', async () => {
  const { pools, lines } = complaints(async () => new Map([['generate-gpu', 2]]));
  for (const pool of ['gpu', 'gpu2', 'gpu2', 'gpu', 'gpu3']) {
    await pools.ordered([pool]);
  }
  await pools.ordered(['gpu4', 'gpu']);
  await pools.ordered(['gpu4', 'gpu5']);
  expect(lines).toEqual(['gpu2', 'gpu3', 'gpu4,gpu5']);
});

test('a database that is away says nothing about workers', async () => {
  const { pools, lines } = complaints(() => Promise.reject(new Error('away')));
  await pools.ordered(['gpu']);
  expect(lines).toEqual([]);
});
