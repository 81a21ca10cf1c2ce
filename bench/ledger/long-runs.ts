import { startBenchPostgres } from '../measure/bench-postgres.ts';
import type { LoadResult } from '../measure/clients.ts';
import type { BenchResult } from '../measure/result.ts';
import { spreadTextOf } from '../measure/spread.ts';
import { accountWithHistory, CLIENTS, makeAccounts, measureLanes, measureSealedLanes } from './lanes.ts';
import { figureOf, ratioOf } from './ledger-figures.ts';

const COLD_ACCOUNTS = 1_000;
const MINUTES = 5;
const SEAL_MS = 60_000;

/** Measures five minutes on one account, then five on many, minute by minute, with entries sealed each minute as maintenance does. */
export async function measureSustained(isQuick: boolean): Promise<BenchResult> {
  const measureMs = isQuick ? 2_000 : 60_000;
  const minutes = Array.from({ length: MINUTES }, (_, minute) => ({
    warmUpMs: minute === 0 ? measureMs / 10 : 0,
    measureMs,
  }));
  const postgres = await startBenchPostgres();
  try {
    const hot = await makeAccounts(postgres.url, 1);
    const cold = await makeAccounts(postgres.url, COLD_ACCOUNTS);
    const rows = [];
    for (const [name, accounts] of [
      ['1 account', hot],
      ['1,000 accounts', cold],
    ] as const) {
      const found = await measureSealedLanes(postgres.url, accounts, minutes, SEAL_MS);
      rows.push([
        name,
        ...found.map(({ perSecond }) => perSecond.toLocaleString('en', { maximumFractionDigits: 0 })),
        figureOf(found),
        `${(found.at(-1)!.perSecond / found[0]!.perSecond).toFixed(2)} ×`,
      ]);
    }
    const head = minutes.map((_, minute) => `minute ${minute + 1}`);
    return {
      conditions: `Reserve and settle without a pause, both durable (fsync on), ${CLIENTS} clients, one process, entries sealed each minute; a minute is ${measureMs / 1_000} s.`,
      tables: [{ title: '', rows: [['per second', ...head, 'all minutes', 'last ÷ first'], ...rows] }],
      headlines: {},
    };
  } finally {
    await postgres.stop();
  }
}

/** Measures the lanes before and after an account receives 20 million charges. */
export async function measureGrown(isQuick: boolean): Promise<BenchResult> {
  const historyRows = isQuick ? 200_000 : 20_000_000;
  const [rounds, load] = isQuick
    ? [1, { warmUpMs: 500, measureMs: 2_000 }]
    : [3, { warmUpMs: 2_000, measureMs: 20_000 }];
  const loads = Array.from({ length: rounds }, () => load);
  const postgres = await startBenchPostgres();
  try {
    const young = await makeAccounts(postgres.url, 1);
    const cold = await makeAccounts(postgres.url, COLD_ACCOUNTS);
    const hotBefore = await measureLanes(postgres.url, young, loads);
    const coldBefore = await measureLanes(postgres.url, cold, loads);
    const startedAt = performance.now();
    const old = [await accountWithHistory(postgres, historyRows)];
    const writtenS = (performance.now() - startedAt) / 1_000;
    const row = (name: string, before: readonly LoadResult[], after: readonly LoadResult[]) => [
      ...[name, figureOf(before), figureOf(after), ratioOf(after, before)],
    ];
    return {
      conditions: `Reserve and settle, both durable (fsync on), ${CLIENTS} clients, one process, before and after one account has got ${historyRows.toLocaleString('en')} charges with their generations (written in ${spreadTextOf([writtenS])} s). Medians of ${rounds} rounds of ${load.measureMs / 1_000} s, [least–most].`,
      tables: [
        {
          title: '',
          rows: [
            ['per second', 'before', 'after', 'after ÷ before'],
            row(
              '1 account, which is the one with the charges',
              hotBefore,
              await measureLanes(postgres.url, old, loads),
            ),
            row('1,000 other accounts', coldBefore, await measureLanes(postgres.url, cold, loads)),
          ],
        },
      ],
      headlines: {},
    };
  } finally {
    await postgres.stop();
  }
}
