import { useReadAll } from '../../api/queries.ts';
import { spendingOf } from '../../api/spending.ts';
import type { CostRow } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { bucketsOf, inCostBuckets, parseRange } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { RangeFilter, useRange } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';

/** Charges of the account by model, from the same rows as its own cost page. */
export function AccountCosts({ id }: { readonly id: string }) {
  const [range, setRange] = useRange('30d');
  const now = Date.now();
  const time = inCostBuckets(parseRange(range, now));
  const path = `/admin/v1/accounts/${id}/costs`;
  const query = {
    start_time: time.start,
    end_time: time.end,
    granularity: time.granularity,
    group_by: 'model',
  };
  const reading = useReadAll<CostRow>(path, query);
  const actions = (
    <>
      <RangeFilter value={range} onChange={setRange} />
      <ExportCsv path={path} query={query} name="costs" />
    </>
  );
  return (
    <Panel title={t('Costs')} actions={actions} flush>
      <Loaded reading={reading}>
        {(rows) => {
          const { groups, total } = spendingOf(rows, bucketsOf(time, now), ({ model }) => model ?? '–');
          return groups.length === 0 ? (
            <Empty text={t('Nothing was spent in this period.')} />
          ) : (
            <Table
              plain
              label={t('Costs')}
              rows={[...groups, { name: t('Total'), total }]}
              rowKey={({ name }) => name}
              columns={[
                { name: t('Model'), cell: ({ name }) => name, clip: true },
                { name: t('Charged'), cell: ({ total: amount }) => <Amount value={amount} />, number: true },
              ]}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}
