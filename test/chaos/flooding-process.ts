import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FloodOrder } from './flood.ts';
import type { RunningLoad } from './load-client.ts';
import type { CallOutcome, OutcomeLog } from './outcome-log.ts';

const FLOOD = fileURLToPath(new URL('./flood.ts', import.meta.url));

/** Sends calls from a process of the lowest priority. Its `stop` records the outcomes of calls sent at a fixed rate. */
export async function startFlood(order: FloodOrder, log: OutcomeLog): Promise<RunningLoad> {
  const child = fork(FLOOD, { serialization: 'advanced' });
  const ended = once(child, 'exit');
  const toldBy = async (): Promise<unknown> => {
    const [message] = await Promise.race([once(child, 'message'), ended.then(endedEarly)]);
    return message;
  };
  child.send(order);
  // its start would otherwise disturb the measurement
  await toldBy();
  return {
    stop: async () => {
      const told = toldBy();
      child.send('stop');
      for (const call of (await told) as readonly CallOutcome[]) {
        log.add(call);
      }
      await ended;
    },
  };
}

function endedEarly(): never {
  throw new Error('the flooding process ended before it was stopped');
}
