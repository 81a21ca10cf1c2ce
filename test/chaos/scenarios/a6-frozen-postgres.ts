import { startFaultProxy } from '../../setup/fault-proxy.ts';
import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack, throughPort } from '../stack.ts';
import { words } from '../upstream-words.ts';

const FROZEN_MS = 10_000;
const REFUSED_WITHIN_MS = 3_500;
const STREAM_MS = 2_000;

export const frozenPostgres: ChaosScenario = {
  id: 'A6',
  fault: 'the network to Postgres drops everything for 10 s',
  asked: 'new calls 503 within 3 s (+ 0.5 s for the machine), running streams finish, 0 lost',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(20), tokenDelayMs: STREAM_MS / 20 });
    const target = { targetHost: '127.0.0.1', targetPort: services.postgresPort() };
    const proxy = await startFaultProxy({ ...target, cutReplyChance: 0 });
    const stack = await startStack(services, { apis: 2, databaseUrl: throughPort(proxy.port) });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new OutcomeLog();
    const load = startLoad({ urls: () => stack.urls, accounts, log, perSecond: 30, streamShare: 1 });
    await pause(STREAM_MS + 2_000);
    const frozenAt = Date.now();
    proxy.freeze();
    await pause(FROZEN_MS);
    proxy.thaw();
    const thawedAt = Date.now();
    await pause(5_000);
    await load.stop();
    await expireHolds(stack.database.ownerUrl);
    const books = await auditBooks(stack.database.ownerUrl, 15_000);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    await stack.stop();
    await proxy.close();
    const begunAt = ({ endedAt, durationMs }: { endedAt: number; durationMs: number }) =>
      endedAt - durationMs;
    // calls of the last moments may have been served after the thaw
    const caught = log.calls.filter(
      (call) => begunAt(call) > frozenAt + 100 && begunAt(call) < thawedAt - REFUSED_WITHIN_MS,
    );
    const late = caught.filter(
      ({ outcome, durationMs }) => outcome !== 'refused' || durationMs > REFUSED_WITHIN_MS,
    );
    const running = log.calls.filter((call) => begunAt(call) < frozenAt - 200 && call.endedAt > frozenAt);
    const cut = running.filter(({ outcome }) => outcome !== 'answered');
    const slowest = Math.max(0, ...caught.map(({ durationMs }) => durationMs));
    const back = log.count(({ outcome, endedAt }) => outcome === 'answered' && endedAt > thawedAt + 1_000);
    return {
      measured: `${caught.length} new calls rejected, the slowest after ${(slowest / 1_000).toFixed(1)} s; ${running.length - cut.length} of ${running.length} running streams finished; ${told} answered and booked correctly, ${wrong.length} wrong; ${back} answered afterwards`,
      failures: [
        ...(late.length > 0
          ? [
              `${late.length} of ${caught.length} new calls were not rejected in time: ${JSON.stringify(late[0], text)}`,
            ]
          : []),
        ...(cut.length > 0 ? [`${cut.length} running streams broke`] : []),
        ...(back < 30 ? [`only ${back} calls answered after the thaw`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

function text(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
