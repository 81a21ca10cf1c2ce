import { startFaultProxy } from '../../setup/fault-proxy.ts';
import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack, throughPort } from '../stack.ts';
import { words } from '../upstream-words.ts';

const CUTS_MIN = 50;

export const lostReplies: ChaosScenario = {
  id: 'A3',
  fault: '2 % of the replies of Postgres are lost after it has acted',
  asked: `0 lost, 0 duplicate, 0 wrong charges; more than ${CUTS_MIN} replies lost`,
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const target = { targetHost: '127.0.0.1', targetPort: services.postgresPort() };
    const proxy = await startFaultProxy({ ...target, cutReplyChance: 0 });
    const stack = await startStack(services, { apis: 2, databaseUrl: throughPort(proxy.port) });
    // only now: a process that cannot read its database ends, and its supervisor starts it again
    proxy.cutReplies(0.02);
    const accounts = [];
    for (let number = 0; number < 20; number += 1) {
      accounts.push(await patiently(() => stack.openAccount('1000')));
    }
    const log = new OutcomeLog();
    const load = { urls: () => stack.urls, accounts, log, perSecond: 80, streamShare: 0.5 };
    await runLoad(load, 40_000);
    await pause(2_000);
    await expireHolds(stack.database.ownerUrl);
    const books = await auditBooks(stack.database.ownerUrl, 30_000);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    const cuts = proxy.cuts();
    await stack.stop();
    await proxy.close();
    return {
      measured: `${cuts} replies lost; ${told} of ${log.calls.length} calls answered and booked correctly, ${wrong.length} wrong`,
      failures: [...(cuts > CUTS_MIN ? [] : [`only ${cuts} replies lost`]), ...wrong, ...books],
    };
  },
};

/** Retries as an operator would. A failed attempt may still have created an account, which then remains unused. */
async function patiently<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch {
      await pause(100);
    }
  }
}
