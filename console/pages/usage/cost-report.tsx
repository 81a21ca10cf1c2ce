import { useLedgerCheck } from '../../api/ledger-check.ts';
import { useReadAll } from '../../api/queries.ts';
import { chartSeries, type Spending, spendingOf } from '../../api/spending.ts';
import type { CostRow } from '../../api/types.gen.ts';
import { shortHash } from '../../lib/key-names.ts';
import { shareOf, shortUsd, sumUsd, usd } from '../../lib/money.ts';
import { language, t } from '../../lib/text.ts';
import { bucketNames, bucketsOf, inCostBuckets, isOpenRange, parseRange } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Chart } from '../../ui/chart.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { useKeyNames } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';
import { LedgerMark } from './ledger-mark.tsx';
import { useBars } from './range-of-bars.ts';

const LIVE_MS = 15_000;

export interface CostReportProps {
  readonly range: string;
  readonly group: string;
  readonly apiKey: string;
  readonly zoom: (range: string) => void;
}

/** Costs by UTC day or hour. The total is the sum of the rows, compared with what the ledger charged. */
export function CostReport({ range, group, apiKey, zoom }: CostReportProps) {
  const now = Date.now();
  const asked = parseRange(range, now);
  const time = inCostBuckets(asked);
  const names = useKeyNames();
  const query = {
    start_time: time.start,
    end_time: time.end,
    granularity: time.granularity,
    group_by: group === 'line' ? undefined : group,
    api_key_hash: apiKey,
  };
  const reading = useReadAll<CostRow>('/api/v1/costs', query, { everyMs: LIVE_MS });
  const nameOf = (row: CostRow): string => {
    if (group === 'line') {
      return t(row.line_item.replace('_', ' '));
    }
    const hash = row.api_key_hash;
    return row.model ?? row.endpoint ?? (hash === null ? '' : (names.get(hash) ?? shortHash(hash)));
  };
  const buckets = bucketsOf(time, now);
  const bars = useBars(time, buckets, apiKey, zoom);
  const shown = reading.isStale ? undefined : reading.data;
  const check = useLedgerCheck(time, apiKey, shown && sumUsd(shown.map(({ amount }) => usd(amount.value))));
  return (
    <Loaded reading={reading} lines={10}>
      {(rows) => {
        const spending = spendingOf(rows, buckets, nameOf);
        return (
          <Panel title={t('Cost')} actions={<ExportCsv path="/api/v1/costs" query={query} name="costs" />}>
            {spending.groups.length === 0 ? (
              <Empty text={t('Nothing was spent in this period.')} />
            ) : (
              <>
                <Chart
                  label={t('Cost over time, {total} in total', { total: shortUsd(spending.total) })}
                  buckets={bucketNames(time, buckets, language())}
                  series={chartSeries(spending.groups, (count) => t('Other ({count})', { count }))}
                  format={shortUsd}
                  isOpen={isOpenRange(time, now)}
                  height={240}
                  {...bars}
                />
                {time === asked ? null : (
                  <p class="quiet">
                    {t('Costs are available per hour; requests, tokens and speed per five minutes.')}
                  </p>
                )}
                <CostTable spending={spending} />
              </>
            )}
            <LedgerMark check={check} />
          </Panel>
        );
      }}
    </Loaded>
  );
}

function CostTable({ spending: { groups, total } }: { readonly spending: Spending }) {
  return (
    <Table
      plain
      label={t('Cost')}
      rows={groups}
      rowKey={({ name }) => name}
      columns={[
        { name: t('Name'), cell: ({ name }) => name, clip: true },
        { name: t('Cost'), cell: ({ total: amount }) => <Amount value={amount} />, number: true },
        {
          name: t('Share'),
          cell: ({ total: amount }) => `${Math.round(shareOf(amount, total) * 100)} %`,
          number: true,
        },
      ]}
      foot={
        <tr>
          <td>{t('Total')}</td>
          <td class="number">
            <Amount value={total} />
          </td>
          <td class="number">100 %</td>
        </tr>
      }
    />
  );
}
