import { choosePort } from '../../../ops/embedded/free-port.ts';
import { startNginx } from '../../deployment/nginx.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

const PROCESSES = 3;

export const rollingRestart: ChaosScenario = {
  id: 'F2',
  fault: 'rolling restart of 3 API processes behind nginx, under calls and streams of 2 s',
  asked: '0 failed calls',
  inShortForm: false,
  async run(services, { isShort }) {
    const rounds = isShort ? 1 : 10;
    services.upstream.reset({ words: words(20), tokenDelayMs: 100 });
    const stack = await startStack(services, { apis: PROCESSES });
    const port = await choosePort();
    const nginx = await startNginx(port, stack.sockets);
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new ToldLog();
    const urls = [`http://127.0.0.1:${port}`];
    const load = startLoad({ urls: () => urls, accounts, log, perSecond: 100, streamShare: 0.5 });
    const codes: (number | null)[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (let place = 0; place < PROCESSES; place += 1) {
        codes.push(await stack.restartApi(place));
      }
    }
    await load.stop();
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    // that it asked the next process is what it should do
    const complaints = (await nginx.errors())
      .split('\n')
      .filter((line) => !/connect\(\) .*failed/.test(line));
    await stack.stop();
    await nginx.stop();
    const failed = log.calls.length - told;
    const unclean = codes.filter((code) => code !== 0).length;
    return {
      measured: `${rounds * PROCESSES} restarts; ${failed} of ${log.calls.length} calls failed; p99 ${log.latencyMs(0.99).toFixed(0)} ms`,
      failures: [
        ...(failed > 0
          ? [
              `${failed} calls failed: ${JSON.stringify(log.troubles)}; nginx: ${complaints.slice(0, 5).join(' ')}`,
            ]
          : []),
        ...(unclean > 0 ? [`${unclean} processes did not end with 0`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};
