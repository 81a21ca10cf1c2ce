import { choosePort } from '../../../ops/embedded/free-port.ts';
import { startNginx } from '../../deployment/nginx.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { startClients } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const PROCESSES = 3;
/** Clients wait for their answers, so a slow machine gets fewer calls rather than more at once: overload is covered by another row. */
const CLIENTS = 200;
const UNDISTURBED_MS = 10_000;
/** Number of words in an answer, and the pause between two of them in ms. */
const ANSWER = { words: 20, tokenDelayMs: 100 };

export const rollingRestart: ChaosScenario = {
  id: 'F2',
  fault: `rolling restart of ${PROCESSES} API processes behind nginx, under calls and streams of 2 s from ${CLIENTS} closed-loop clients`,
  asked: '0 failed calls',
  inShortForm: false,
  async run(services, { isShort }) {
    const rounds = isShort ? 1 : 10;
    services.upstream.reset({ words: words(ANSWER.words), tokenDelayMs: ANSWER.tokenDelayMs });
    const stack = await startStack(services, { apis: PROCESSES });
    const port = await choosePort();
    const nginx = await startNginx(port, stack.sockets);
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new OutcomeLog();
    const urls = [`http://127.0.0.1:${port}`];
    const load = startClients(
      { urls: () => urls, accounts, log, streamShare: 0.5 },
      CLIENTS,
      ANSWER.words * ANSWER.tokenDelayMs,
    );
    await pause(UNDISTURBED_MS);
    const [callsBefore, answeredBefore, restartedFrom] = [log.calls.length, log.answered, performance.now()];
    const codes: (number | null)[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (let place = 0; place < PROCESSES; place += 1) {
        codes.push(await stack.restartApi(place));
      }
    }
    const perSecond = {
      before: callsBefore / (UNDISTURBED_MS / 1_000),
      during: (log.calls.length - callsBefore) / ((performance.now() - restartedFrom) / 1_000),
    };
    await load.stop();
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    // nginx logs when it tries the next process, as it should
    const complaints = (await nginx.errors())
      .split('\n')
      .filter((line) => !/connect\(\) .*failed/.test(line));
    await stack.stop();
    await nginx.stop();
    const failed = log.calls.length - told;
    const unclean = codes.filter((code) => code !== 0).length;
    return {
      measured: `${rounds * PROCESSES} restarts; ${failed} of ${log.calls.length} calls failed; ${perSecond.during.toFixed(0)} calls/s, ${perSecond.before.toFixed(0)}/s before them; p99 ${log.latencyMs(0.99).toFixed(0)} ms`,
      failures: [
        ...(failed > 0
          ? [
              `${failed} calls failed, ${callsBefore - answeredBefore} of them before the first restart: ${JSON.stringify(log.troubles)}; nginx: ${complaints.slice(0, 5).join(' ')}`,
            ]
          : []),
        ...(unclean > 0 ? [`${unclean} processes did not exit with code 0`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};
