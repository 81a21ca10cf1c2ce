import { setPriority } from 'node:os';
import { type HammerOrder, startHammer } from './hammer.ts';
import { startLoad } from './load-client.ts';
import { ToldLog } from './told-log.ts';

/** Its own process, so that what it sends takes nothing from the client that is measured beside it, nor from the providers. */

const LOWEST_PRIORITY = 19;

/** What the process is told to send: calls at a fixed rate, or the next as soon as the last one was answered. */
export type FloodOrder = RateOrder | HammerOrder;

interface RateOrder {
  readonly urls: readonly string[];
  readonly key: string;
  readonly perSecond: number;
  readonly timeoutMs: number;
}

setPriority(LOWEST_PRIORITY);

process.once('message', (order: FloodOrder) => {
  const log = new ToldLog();
  const load =
    'connections' in order
      ? startHammer(order)
      : startLoad({ ...order, urls: () => order.urls, accounts: [order], streamShare: 0, log });
  process.once('message', async () => {
    await load.stop();
    process.send?.(log.calls, () => process.disconnect());
  });
  process.send?.('begun');
});
