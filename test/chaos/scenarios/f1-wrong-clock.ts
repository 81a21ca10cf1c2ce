import { fileURLToPath } from 'node:url';
import { auditBooks, auditCalls, untilNoHolds } from '../audit.ts';
import { runLoad, sendBurst } from '../load-client.ts';
import { type CallOutcome, OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const CLOCK_STEP = fileURLToPath(new URL('../clock-step.mjs', import.meta.url));
const STREAMS = 30;
const HOLD_TTL_MS = 60_000;

export const wrongClock: ChaosScenario = {
  id: 'F1',
  fault:
    'the clock of the API processes jumps an hour ahead and back; one process freezes for longer than its holds live',
  asked: 'no hold expires early; what settles late is not charged twice',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(20), tokenDelayMs: 20 });
    const settings = { NODE_OPTIONS: `--import ${CLOCK_STEP}` };
    const stack = await startStack(services, { apis: 2, settings });
    const { ownerUrl } = stack.database;
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const [log, frozen] = [new OutcomeLog(), new OutcomeLog()];
    const load = { urls: () => stack.urls, accounts, log, perSecond: 40, streamShare: 0.5 };
    const running = runLoad(load, 16_000);
    for (let step = 0; step < 3; step += 1) {
      await pause(4_000);
      for (const api of stack.apis) {
        api.signal('SIGUSR2');
      }
    }
    await running;
    services.upstream.reset({ words: words(60), tokenDelayMs: 100 });
    const [sleeper] = stack.urls;
    const burst = sendBurst(
      { urls: () => [sleeper!], accounts, log: frozen, streamShare: 1, timeoutMs: 2 * HOLD_TTL_MS },
      STREAMS,
    );
    await pause(2_000);
    stack.apis[0]!.signal('SIGSTOP');
    const openWhileFrozen = await untilNoHolds(ownerUrl, HOLD_TTL_MS + 10_000);
    stack.apis[0]!.signal('SIGCONT');
    await burst;
    const books = await auditBooks(ownerUrl, 10_000);
    // the reaper settled these at their last recorded usage: less than the clients finally received
    const late = frozen.calls.map((told): CallOutcome => ({ ...told, outcome: 'broken' }));
    const { told, wrong } = await auditCalls(ownerUrl, [...log.calls, ...late]);
    await stack.stop();
    return {
      measured: `${told} of ${log.calls.length} calls answered across the jumps and booked correctly; ${STREAMS} streams froze for ${HOLD_TTL_MS / 1_000} s and more: their holds were closed by the other process, ${frozen.answered} of them ended later and were charged at most once; ${wrong.length} wrong`,
      failures: [
        ...(told < log.calls.length ? [JSON.stringify(log.troubles)] : []),
        ...(openWhileFrozen > 0 ? [`${openWhileFrozen} holds of the sleeping process stayed open`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};
