import fc from 'fast-check';
import { exactUsd, plainUsd, usd } from '../lib/money.ts';
import { bucketNames, bucketsOf, parseRange } from '../lib/time.ts';
import { chartSeries, spendingOf } from './spending.ts';
import type { CostRow } from './types.gen.ts';

const ZONES = ['Pacific/Pago_Pago', 'UTC', 'Asia/Kolkata', 'Pacific/Kiritimati'];
const HISTORIES = 250;
const RANGES = ['6h', '24h', '7d', '30d', '2026-10-24,2026-11-02', '2026-11-20T10:05Z,2026-11-21T08:35Z'];
const NOW = Date.parse('2026-11-21T09:30:04Z');
const SEED = Number(process.env.SPENDING_SEED ?? 6);

const row = fc.record({
  bucket: fc.nat(400),
  amount: fc.bigInt({ min: 0n, max: 10n ** 15n }),
  model: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', '__proto__'),
  line: fc.constantFrom('input', 'output', 'image'),
});
const history = fc.record({ range: fc.constantFrom(...RANGES), rows: fc.array(row, { maxLength: 40 }) });

const zone = process.env.TZ;
afterAll(() => {
  if (zone === undefined) {
    delete process.env.TZ;
  } else {
    process.env.TZ = zone;
  }
});

test.each(ZONES)(
  '%s: the total is the sum of the rows, of the groups and of the bars, to the nano-dollar',
  (name) => {
    process.env.TZ = name;
    fc.assert(
      fc.property(history, ({ range, rows }) => {
        const time = parseRange(range, NOW);
        const buckets = bucketsOf(time, NOW);
        const told = rows.map(({ bucket, amount, model, line }): CostRow => {
          const start = buckets[bucket % buckets.length] ?? 0;
          return {
            period_start: new Date(start).toISOString(),
            period_end: new Date(start + time.bucketMs).toISOString(),
            amount: { value: plainUsd(amount), currency: 'USD' },
            ...{ line_item: line, model, api_key_hash: null, endpoint: null },
          };
        });
        const wanted = rows.reduce((sum, { amount }) => sum + amount, 0n);
        const { total, groups } = spendingOf(told, buckets, ({ model }) => model ?? '');
        expect(total).toBe(wanted);
        expect(groups.reduce((sum, group) => sum + group.total, 0n)).toBe(wanted);
        const bars = chartSeries(groups, String).flatMap(({ values }) => values);
        expect(bars.reduce((sum, value) => sum + value, 0n)).toBe(wanted);
        const { main, rest } = exactUsd(total);
        expect(usd(`${main}${rest}`.replace(/[^\d.]/g, ''))).toBe(wanted);
      }),
      { numRuns: HISTORIES, seed: SEED },
    );
  },
);

test.each(ZONES)('%s: a UTC day keeps its name, even on a clock change', (name) => {
  process.env.TZ = name;
  const range = parseRange('2026-10-24,2026-11-02', NOW);
  const names = bucketNames(range, bucketsOf(range, NOW), 'en');
  expect(names).toHaveLength(10);
  expect([names[0], names[1], names.at(-1)]).toEqual(['Oct 24', 'Oct 25', 'Nov 2']);
});
