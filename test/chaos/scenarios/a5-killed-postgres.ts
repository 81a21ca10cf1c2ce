import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const FIRST_SUCCESS_MS_MAX = 5_000;
const HOLDS_MS = 15_000;

export const killedPostgres: ChaosScenario = {
  id: 'A5',
  fault: 'kill -9 of the postmaster under load',
  asked: '0 acknowledged charges lost; first success ≤ 5 s after Postgres is up',
  inShortForm: true,
  async run(services, { isShort }) {
    const kills = isShort ? 1 : 5;
    services.upstream.reset({ words: words(20), tokenDelayMs: 10 });
    const stack = await startStack(services, { apis: 2 });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new OutcomeLog();
    const load = startLoad({ urls: () => stack.urls, accounts, log, perSecond: 100, streamShare: 0.5 });
    const delays: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      await pause(2_000);
      services.killPostgres();
      await services.startPostgres();
      const upAt = Date.now();
      await pause(isShort ? 3_000 : 5_500);
      const first = log.calls.find(({ outcome, endedAt }) => outcome === 'answered' && endedAt > upAt);
      delays.push(first === undefined ? Number.POSITIVE_INFINITY : first.endedAt - upAt);
    }
    await load.stop();
    await expireHolds(stack.database.ownerUrl);
    const books = await auditBooks(stack.database.ownerUrl, HOLDS_MS);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    await stack.stop();
    const slowest = Math.max(...delays);
    return {
      measured: `${kills} kills; ${told} of ${log.calls.length} calls answered and booked correctly; ${wrong.length} wrong; first success after ${delays.map((delay) => `${(delay / 1_000).toFixed(1)}`).join(', ')} s`,
      failures: [
        ...(slowest > FIRST_SUCCESS_MS_MAX ? [`the first success came after ${slowest} ms`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};
