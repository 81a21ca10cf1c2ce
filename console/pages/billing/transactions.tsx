import { useList } from '../../api/lists.ts';
import type { BalanceTransaction } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Choice } from '../../ui/field.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

const LIVE_MS = 10_000;
const PATH = '/api/v1/billing/balance-transactions';

/** All movements of the balance, newest first, with the resulting balance. */
export function Transactions() {
  const [type, setType] = useQueryState('type', '');
  const listing = useList<BalanceTransaction>(PATH, { type }, { everyMs: LIVE_MS });
  const filter = (
    <Choice
      bare
      label={t('Type')}
      value={type}
      options={[
        ['', t('All types')],
        ['credit_purchase', t('Purchases')],
        ['usage_charge', t('Charges')],
        ['refund', t('Refunds')],
        ['adjustment', t('Adjustments')],
      ]}
      onChange={setType}
    />
  );
  const actions = (
    <>
      {filter}
      <ExportCsv path={PATH} query={{ type }} name="transactions" />
    </>
  );
  return (
    <Panel title={t('Transactions')} actions={actions} flush>
      <List
        label={t('Transactions')}
        listing={listing}
        columns={columns()}
        rowKey={({ id }) => id}
        empty={type === '' ? t('No transactions yet.') : t('No transactions of this type.')}
      />
    </Panel>
  );
}

function relatedTo(generation: string | null, checkout: string | null) {
  if (generation !== null) {
    return (
      <a class="mono" href={to('generations', { generation })}>
        {generation}
      </a>
    );
  }
  return checkout === null ? '–' : <span class="mono">{checkout}</span>;
}

function columns(): Column<BalanceTransaction>[] {
  return [
    { name: t('Time'), cell: ({ created_at: at }) => <Time at={at} /> },
    { name: t('Amount'), cell: ({ amount }) => <Amount value={amount.value} />, number: true },
    {
      name: t('Balance after'),
      cell: ({ balance_after: after }) => <Amount value={after.value} />,
      number: true,
      card: 'hidden',
    },
    { name: t('Type'), cell: ({ type }) => t(type.replace('_', ' ')) },
    { name: t('Description'), cell: ({ description }) => description, card: 'hidden', clip: true },
    {
      name: t('For'),
      cell: ({ related_generation_id: generation, related_checkout_session_id: checkout }) =>
        relatedTo(generation, checkout),
      card: 'wide',
      clip: true,
    },
  ];
}
