import { setPriority } from 'node:os';
import { startLoad } from './load-client.ts';
import { ToldLog } from './told-log.ts';

/** Its own process, so that a flood of calls takes nothing from the client that is measured beside it, nor from the providers. */

const LOWEST_PRIORITY = 19;

/** What the process is told to send. */
export interface FloodOrder {
  readonly urls: readonly string[];
  readonly key: string;
  readonly perSecond: number;
  readonly timeoutMs: number;
}

process.once('message', (order: FloodOrder) => {
  setPriority(LOWEST_PRIORITY);
  const log = new ToldLog();
  const load = startLoad({ ...order, urls: () => order.urls, accounts: [order], streamShare: 0, log });
  process.once('message', async () => {
    await load.stop();
    process.send?.(log.calls, () => process.disconnect());
  });
});
