import { setPriority } from 'node:os';
import { type HammerOrder, startHammer } from './hammer.ts';
import { type RunningLoad, startLoad } from './load-client.ts';
import { OutcomeLog } from './outcome-log.ts';
import { pause } from './pause.ts';

/** Runs in its own process, so that its calls take no processor time from the measured client or the providers. */

const LOWEST_PRIORITY = 19;
const PARTS = 10;
const PART_CONNECTIONS = 200;
const PART_EVERY_MS = 300;

/** What the process must send: calls at a fixed rate, or each call as soon as the previous one was answered. */
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
  const log = new OutcomeLog();
  const loads = 'isHeavy' in order ? [startHammer(order)] : await startRate(order, log);
  process.once('message', async () => {
    await Promise.all(loads.map((load) => load.stop()));
    process.send?.(log.calls, () => process.disconnect());
  });
  process.send?.('begun');
});

/** Opens the connections in parts: the effect of a thousand at once is covered by another row. */
async function startRate(order: RateOrder, log: OutcomeLog): Promise<RunningLoad[]> {
  const { urls, timeoutMs, prompts } = order;
  const part = { urls: () => urls, accounts: [order], streamShare: 0, timeoutMs, prompts, log };
  const loads: RunningLoad[] = [];
  for (let number = 0; number < PARTS; number += 1) {
    loads.push(startLoad({ ...part, perSecond: order.perSecond / PARTS, connections: PART_CONNECTIONS }));
    await pause(PART_EVERY_MS);
  }
  return loads;
}
