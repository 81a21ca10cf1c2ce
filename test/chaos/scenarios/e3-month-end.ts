import { createDatabase } from '../../../src/store/database.ts';
import { testMonthClose } from '../../factories/month-close.ts';
import { MOVABLE_CLOCK } from '../../setup/movable-clock.ts';
import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

/** Time left in the month by the ledger's clock when the calls begin, in ms. */
const BEFORE_MIDNIGHT_MS = 12_000;
const PER_SECOND = 150;

export const monthEnd: ChaosScenario = {
  id: 'E3',
  fault: `the month is closed while ${PER_SECOND} calls/s straddle its end (the ledger's clock moved)`,
  asked: 'identities hold; the statements and the running month add up to the ledger',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 20 });
    const now = new Date();
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    // the processes need some time to start
    const startMs = 8_000;
    const offsetMs = nextMonth - BEFORE_MIDNIGHT_MS - startMs - now.getTime();
    const atMonthEnd = (url: string) => {
      const moved = new URL(url);
      moved.searchParams.set('options', `-c tollgate.clock_offset=${offsetMs}ms`);
      return moved.href;
    };
    const stack = await startStack(services, {
      apis: 2,
      databaseUrl: atMonthEnd,
      prepareDatabase: ({ ownerUrl }) => queryOwner(ownerUrl, MOVABLE_CLOCK),
    });
    const { ownerUrl, url } = stack.database;
    const accounts = await Promise.all(Array.from({ length: 10 }, () => stack.openAccount('1000')));
    const log = new OutcomeLog();
    const load = startLoad({
      urls: () => stack.urls,
      accounts,
      log,
      perSecond: PER_SECOND,
      streamShare: 0.5,
    });
    const database = createDatabase(
      { url: atMonthEnd(url), moneyConnections: 2, connections: 1 },
      () => undefined,
    );
    const months = testMonthClose(database);
    let statements = 0;
    const closed = () => Date.now() + offsetMs > nextMonth + 8_000;
    while (!closed()) {
      statements += (await months.closeDueMonths()).statements;
      await pause(50);
    }
    await load.stop();
    await database.close();
    const books = await auditBooks(ownerUrl, 5_000);
    const { told, wrong } = await auditCalls(ownerUrl, log.calls);
    const [sums] = await queryOwner<{ before: string; after: string; stated: string; paid: number }>(
      ownerUrl,
      `SELECT (SELECT coalesce(-sum(amount), 0) FROM ledger_entries WHERE type = 'usage_charge' AND at < $1) AS before,
              (SELECT coalesce(-sum(amount), 0) FROM ledger_entries WHERE type = 'usage_charge' AND at >= $1) AS after,
              (SELECT coalesce(sum(usage), 0) FROM invoices) AS stated,
              (SELECT count(*)::integer FROM invoices WHERE status = 'paid') AS paid`,
      [new Date(nextMonth).toISOString()],
    );
    await stack.stop();
    const isStraddled = BigInt(sums?.before ?? 0) > 0n && BigInt(sums?.after ?? 0) > 0n;
    return {
      measured: `${statements} statements made, ${sums?.paid} final; usage before midnight ${sums?.before}, stated ${sums?.stated}, after it ${sums?.after} nano-USD; ${told} calls answered and booked correctly`,
      failures: [
        ...(isStraddled ? [] : ['inconclusive: the calls did not straddle midnight']),
        ...(sums?.before === sums?.stated ? [] : ['the statements differ from the ledger']),
        ...(statements >= accounts.length ? [] : [`only ${statements} statements`]),
        ...wrong,
        ...books,
      ],
    };
  },
};
