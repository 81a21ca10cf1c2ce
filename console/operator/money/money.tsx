import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { get } from '../../api/client.ts';
import { refresh, useRead } from '../../api/queries.ts';
import type { LedgerProof, Margin } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { parseRange } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Loaded, Notice, Problem } from '../../ui/feedback.tsx';
import { Choice, Tabs } from '../../ui/field.tsx';
import { RangeFilter, useRange } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';
import { knownOf, percentOf, sumOf } from '../margin.ts';
import { Prices } from './prices.tsx';

const MARGIN = '/admin/v1/reports/margin';
/** Groupings of margins: the field of a row that names the group, and its label. */
const GROUPS = {
  model: { member: 'model', word: 'Model' },
  endpoint: { member: 'endpoint', word: 'Endpoint' },
  provider: { member: 'provider', word: 'Provider' },
  account: { member: 'account_id', word: 'Account' },
} as const;
type Group = keyof typeof GROUPS;

/** Margins of models, their prices, and whether the books are correct. */
export function MoneyPage() {
  const [tab] = useQueryState('tab', 'margin');
  const [range, setRange] = useRange('30d');
  const [group, setGroup] = useQueryState('by', 'model');
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Money')}</h1>
        {tab === 'margin' ? (
          <div class="page-actions">
            <Choice
              bare
              label={t('By')}
              value={group}
              options={[
                ['model', t('By model')],
                ['endpoint', t('By endpoint')],
                ['provider', t('By provider')],
                ['account', t('By account')],
              ]}
              onChange={setGroup}
            />
            <RangeFilter value={range} onChange={setRange} />
          </div>
        ) : null}
      </div>
      <ProofOfBooks />
      <Tabs
        label={t('Money')}
        value={tab}
        options={[
          ['margin', t('Margin'), to('operator/money')],
          ['prices', t('Prices'), to('operator/money', { tab: 'prices' })],
        ]}
      />
      {tab === 'prices' ? (
        <Prices />
      ) : (
        <Margins range={range} group={group in GROUPS ? (group as Group) : 'model'} />
      )}
    </div>
  );
}

/** Checks every invariant of the ledger on demand. */
function ProofOfBooks() {
  const [proof, setProof] = useState<LedgerProof>();
  const proving = useAction(async () => {
    setProof((await get<LedgerProof>('/admin/v1/ledger/verify')).data);
    refresh('/admin/v1/ledger');
  });
  return (
    <Panel title={t('Ledger check')}>
      <div class="form">
        <div class="form-row">
          <button
            type="button"
            class="button"
            disabled={proving.isPending}
            onClick={() => void proving.run()}
          >
            {proving.isPending ? t('Checking …') : t('Check the books now')}
          </button>
          <span role="status">{proof?.ok ? <Holds checked={proof.checked} /> : null}</span>
        </div>
        {proving.error === undefined ? null : <Problem error={proving.error} />}
        {proof === undefined || proof.ok ? null : (
          <Notice tone="bad">
            {proof.violations.map(({ claim, object, detail }) => (
              <p key={`${claim} ${object}`}>
                {claim}: {object}, {detail}
              </p>
            ))}
          </Notice>
        )}
      </div>
    </Panel>
  );
}

function Holds({ checked }: { readonly checked: number }) {
  return <span class="status-good">● {t('All {checked} invariants hold', { checked })}</span>;
}

function Margins({ range, group }: { readonly range: string; readonly group: Group }) {
  const { start, end } = parseRange(range, Date.now());
  const until = end ?? new Date(Math.ceil(Date.now() / 300_000) * 300_000).toISOString();
  const query = { start_time: start, end_time: until, granularity: 'all', group_by: group };
  const reading = useRead<readonly Margin[]>(MARGIN, query);
  return (
    <Loaded reading={reading} lines={8}>
      {(rows) => (
        <Panel title={t('Margin')} actions={<ExportCsv path={MARGIN} query={query} name="margin" />} flush>
          {rows.length === 0 ? (
            <Empty text={t('No calls in this period.')} />
          ) : (
            <MarginTable rows={rows} group={group} />
          )}
        </Panel>
      )}
    </Loaded>
  );
}

function MarginTable({ rows, group }: { readonly rows: readonly Margin[]; readonly group: Group }) {
  const parts = rows
    .map((row) => ({ name: row[GROUPS[group].member] ?? '–', sums: sumOf([row]) }))
    .sort((first, second) => (first.sums.charged < second.sums.charged ? 1 : -1));
  const total = sumOf(rows);
  return (
    <Table
      label={t('Margin')}
      rows={[...parts, { name: t('Total'), sums: total }]}
      rowKey={({ name }) => name}
      columns={[
        { name: t(GROUPS[group].word), cell: ({ name }) => partName(name), clip: true },
        { name: t('Charged'), cell: ({ sums }) => <Amount value={sums.charged} />, number: true },
        { name: t('Refunded'), cell: ({ sums }) => <Amount value={sums.refunded} />, number: true },
        { name: t('Cost'), cell: ({ sums }) => <Amount value={knownOf(sums).cost} />, number: true },
        { name: t('Margin'), cell: ({ sums }) => <Amount value={knownOf(sums).margin} />, number: true },
        { name: t('Margin, %'), cell: ({ sums }) => shareOf(knownOf(sums)), number: true },
        {
          name: t('Cost known for'),
          cell: ({ sums }) => percentOf(sums.charged - sums.unknown, sums.charged),
          number: true,
        },
        { name: t('Calls'), cell: ({ sums }) => formatCount(sums.calls), number: true },
      ]}
    />
  );
}

/** Links an account to its page. */
function partName(name: string) {
  return name.startsWith('acc_') ? <a href={to(`operator/accounts/${name}`)}>{name}</a> : name;
}

function shareOf({ margin, charged }: ReturnType<typeof knownOf>): string {
  return percentOf(margin ?? 0n, charged);
}
