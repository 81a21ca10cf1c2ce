import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FloodOrder } from './flood.ts';
import type { RunningLoad } from './load-client.ts';
import type { Told, ToldLog } from './told-log.ts';

const FLOOD = fileURLToPath(new URL('./flood.ts', import.meta.url));

/** Sends calls from a process of the lowest priority. Its stop writes down what those at a fixed rate were told. */
export async function startFlood(order: FloodOrder, log: ToldLog): Promise<RunningLoad> {
  const child = fork(FLOOD, { serialization: 'advanced' });
  const ended = once(child, 'exit');
  const toldBy = async (): Promise<unknown> => {
    const [message] = await Promise.race([once(child, 'message'), ended.then(endedEarly)]);
    return message;
  };
  child.send(order);
  // its start is work that would be measured beside it
  await toldBy();
  return {
    stop: async () => {
      const told = toldBy();
      child.send('stop');
      for (const call of (await told) as readonly Told[]) {
        log.add(call);
      }
      await ended;
    },
  };
}

function endedEarly(): never {
  throw new Error('the process that floods ended before it was told to');
}
