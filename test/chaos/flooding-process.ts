import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FloodOrder } from './flood.ts';
import type { RunningLoad } from './load-client.ts';
import type { Told, ToldLog } from './told-log.ts';

const FLOOD = fileURLToPath(new URL('./flood.ts', import.meta.url));

/** Sends calls at a fixed rate from a process of the lowest priority. Its stop writes down what it was told. */
export function startFlood(order: FloodOrder, log: ToldLog): RunningLoad {
  const child = fork(FLOOD, { serialization: 'advanced' });
  child.send(order);
  return {
    stop: async () => {
      const exited = once(child, 'exit');
      const told = once(child, 'message');
      child.send('stop');
      const [calls] = (await Promise.race([told, exited.then(endedEarly)])) as [readonly Told[]];
      for (const call of calls) {
        log.add(call);
      }
      await exited;
    },
  };
}

function endedEarly(): never {
  throw new Error('the process that floods ended before it was told to');
}
