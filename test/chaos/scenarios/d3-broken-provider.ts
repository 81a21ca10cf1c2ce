import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const SETTLE_MS = 10_000;
const SUCCESS_SHARE_MIN = 0.995;
const RETRY_SHARE_MAX = 0.1;

export const brokenProvider: ChaosScenario = {
  id: 'D3',
  fault: 'the first of two providers answers every call with 500',
  asked: 'success ≥ 99.5 % after ≤ 10 s; calls to the broken one ≤ 10 % of all',
  inShortForm: false,
  async run(services) {
    const script = { words: words(10), tokenDelayMs: 5 };
    services.upstream.reset(script);
    services.otherUpstream.reset(script);
    const stack = await startStack(services, { apis: 2, catalog: { routes: ['main', 'other'] } });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const load = { urls: () => stack.urls, accounts, perSecond: 60, streamShare: 0.5 };
    const [before, during, later] = [new OutcomeLog(), new OutcomeLog(), new OutcomeLog()];
    await runLoad({ ...load, log: before }, 3_000);
    services.upstream.reset({ ...script, fault: 'server_error' });
    await runLoad({ ...load, log: during }, SETTLE_MS);
    services.upstream.requests.length = 0;
    await runLoad({ ...load, log: later }, 15_000);
    const retries = services.upstream.requests.length / later.calls.length;
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const calls = [...before.calls, ...during.calls, ...later.calls];
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    await stack.stop();
    return {
      measured: `${percent(during.successShare)} answered in the first 10 s, ${percent(later.successShare)} after; ${percent(retries)} of the calls tried the broken one`,
      failures: [
        ...(later.successShare < SUCCESS_SHARE_MIN ? [JSON.stringify(later.troubles)] : []),
        ...(retries > RETRY_SHARE_MAX ? [`${percent(retries)} of the calls tried the broken provider`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}
