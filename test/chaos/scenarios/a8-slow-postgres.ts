import { startMovingAddress } from '../../setup/moving-address.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack, throughPort } from '../stack.ts';
import { words } from '../upstream-words.ts';

const DELAY_MS = 500;
const SLOW_MS = 20_000;
const CALM_MS = 10_000;
const CALLS_PER_SECOND = 5;
const SHARE_MIN = 0.99;

export const slowPostgres: ChaosScenario = {
  id: 'A8',
  fault: `every reply of Postgres is ${DELAY_MS} ms late for ${SLOW_MS / 1_000} s, under ${CALLS_PER_SECOND} calls/s`,
  asked: 'each call answered or 503, 0 lost; calls answered ≥ 99 % once the fault is over',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const address = await startMovingAddress(services.postgresPort());
    const stack = await startStack(services, { apis: 2, databaseUrl: throughPort(address.port) });
    try {
      const accounts = await Promise.all(Array.from({ length: 10 }, () => stack.openAccount('1000')));
      const load = { urls: () => stack.urls, accounts, perSecond: CALLS_PER_SECOND, streamShare: 0.5 };
      const [calm, slow, after] = [new OutcomeLog(), new OutcomeLog(), new OutcomeLog()];
      await runLoad({ ...load, log: calm }, CALM_MS);
      address.delay(DELAY_MS);
      await runLoad({ ...load, log: slow }, SLOW_MS);
      address.delay(0);
      await runLoad({ ...load, log: after }, CALM_MS);
      const books = await auditBooks(stack.database.ownerUrl, 15_000);
      const calls = [...calm.calls, ...slow.calls, ...after.calls];
      const { told, wrong } = await auditCalls(stack.database.ownerUrl, calls);
      const lost = slow.count(({ outcome }) => outcome !== 'answered' && outcome !== 'refused');
      return {
        measured: `${slow.answered} of ${slow.calls.length} calls answered at p50 ${slow.latencyMs(0.5).toFixed(0)} ms (without the fault ${calm.latencyMs(0.5).toFixed(0)} ms), the others 503; ${told} answered and booked correctly, ${wrong.length} wrong; ${after.answered} of ${after.calls.length} answered afterwards`,
        failures: [
          ...(lost > 0 ? [`${lost} calls broke: ${JSON.stringify(slow.troubles)}`] : []),
          ...(after.successShare < SHARE_MIN ? [JSON.stringify(after.troubles)] : []),
          ...wrong,
          ...books,
        ],
      };
    } finally {
      await stack.stop();
      await address.close();
    }
  },
};
