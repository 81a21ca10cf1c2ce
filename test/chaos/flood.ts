import { setPriority } from 'node:os';
import { type HammerOrder, startHammer } from './hammer.ts';
import { type RunningLoad, startLoad } from './load-client.ts';
import { pause } from './pause.ts';
import { ToldLog } from './told-log.ts';

/** Its own process, so that what it sends takes nothing from the client that is measured beside it, nor from the providers. */

const LOWEST_PRIORITY = 19;
const PARTS = 10;
const PART_CONNECTIONS = 200;
const PART_EVERY_MS = 300;

/** What the process is told to send: calls at a fixed rate, or the next as soon as the last one was answered. */
export type FloodOrder = RateOrder | HammerOrder;

interface RateOrder {
  readonly urls: readonly string[];
  readonly key: string;
  readonly perSecond: number;
  readonly timeoutMs: number;
  readonly prompts: readonly [string, ...string[]];
}

setPriority(LOWEST_PRIORITY);

process.once('message', async (order: FloodOrder) => {
  const log = new ToldLog();
  const loads = 'isHeavy' in order ? [startHammer(order)] : await startRate(order, log);
  process.once('message', async () => {
    await Promise.all(loads.map((load) => load.stop()));
    process.send?.(log.calls, () => process.disconnect());
  });
  process.send?.('begun');
});

/** Connections come in parts: what a thousand in one instant do is another row's. */
async function startRate(order: RateOrder, log: ToldLog): Promise<RunningLoad[]> {
  const { urls, timeoutMs, prompts } = order;
  const part = { urls: () => urls, accounts: [order], streamShare: 0, timeoutMs, prompts, log };
  const loads: RunningLoad[] = [];
  for (let number = 0; number < PARTS; number += 1) {
    loads.push(startLoad({ ...part, perSecond: order.perSecond / PARTS, connections: PART_CONNECTIONS }));
    await pause(PART_EVERY_MS);
  }
  return loads;
}
