import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

export const readOnlyPostgres: ChaosScenario = {
  id: 'F3',
  fault: 'Postgres becomes read-only for 8 s, as a full disk or a demoted primary makes it',
  asked: '503, no partial writes, recovers unaided',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 10 });
    const stack = await startStack(services, { apis: 2 });
    const { ownerUrl } = stack.database;
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new ToldLog();
    const load = startLoad({ urls: () => stack.urls, accounts, log, perSecond: 60, streamShare: 0.5 });
    await pause(2_000);
    // of the server, so that it also reaches sessions that are open
    await queryOwner(ownerUrl, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await queryOwner(ownerUrl, 'SELECT pg_reload_conf()');
    await pause(8_000);
    await queryOwner(ownerUrl, 'ALTER SYSTEM RESET default_transaction_read_only');
    await queryOwner(ownerUrl, 'SELECT pg_reload_conf()');
    const writableAt = Date.now();
    await pause(5_000);
    await load.stop();
    const books = await auditBooks(ownerUrl, 70_000);
    const { told, wrong } = await auditCalls(ownerUrl, log.calls);
    await stack.stop();
    const refusals = log.troubles;
    const odd = Object.keys(refusals).filter((trouble) => trouble !== '503 service_unavailable');
    const first = log.calls.find(({ outcome, endedAt }) => outcome === 'answered' && endedAt > writableAt);
    const recoveredMs = first === undefined ? Number.POSITIVE_INFINITY : first.endedAt - writableAt;
    return {
      measured: `${refusals['503 service_unavailable'] ?? 0} calls 503, ${told} told and booked alike, ${wrong.length} wrong; first success ${(recoveredMs / 1_000).toFixed(1)} s after it was writable`,
      failures: [
        ...(odd.length > 0 ? [`other answers than 503: ${JSON.stringify(refusals)}`] : []),
        ...(refusals['503 service_unavailable'] === undefined
          ? ['nothing was refused: there was no fault']
          : []),
        ...(recoveredMs > 5_000 ? ['it did not recover within 5 s'] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};
