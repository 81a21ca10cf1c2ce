import { useState } from 'preact/hooks';
import { useList } from '../../api/lists.ts';
import { refresh } from '../../api/queries.ts';
import type { BalanceTransaction } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Time } from '../../ui/time.tsx';
import { RefundDialog } from '../refund.tsx';

const LIVE_MS = 10_000;
const REFUNDABLE = ['credit_purchase', 'usage_charge'];

/** All movements of the balance; purchases and charges can be refunded. */
export function AccountTransactions({ id }: { readonly id: string }) {
  const [refunded, refund] = useState<BalanceTransaction>();
  const path = `/admin/v1/accounts/${id}/transactions`;
  const listing = useList<BalanceTransaction>(path, {}, { everyMs: LIVE_MS });
  const close = () => {
    refund(undefined);
    refresh('/admin/v1/accounts');
  };
  return (
    <Panel flush>
      <List
        label={t('Transactions')}
        listing={listing}
        rowKey={(row) => row.id}
        empty={t('No transactions yet.')}
        columns={[
          { name: t('Time'), cell: ({ created_at: at }) => <Time at={at} /> },
          { name: t('Amount'), cell: ({ amount }) => <Amount value={amount.value} />, number: true },
          {
            name: t('Balance after'),
            cell: ({ balance_after: after }) => <Amount value={after.value} />,
            number: true,
            card: 'hidden',
          },
          { name: t('Type'), cell: ({ type }) => t(type.replace('_', ' ')) },
          { name: t('Description'), cell: ({ description }) => description, clip: true, card: 'wide' },
          { name: t('Id'), cell: (row) => <span class="mono">{row.id}</span>, clip: true, card: 'wide' },
          {
            name: t('Action'),
            cell: (row) =>
              REFUNDABLE.includes(row.type) ? (
                <button type="button" class="button" onClick={() => refund(row)}>
                  {t('Refund …')}
                </button>
              ) : null,
          },
        ]}
      />
      {refunded === undefined ? null : (
        <RefundDialog
          account={id}
          transaction={refunded.id}
          isPurchase={refunded.type === 'credit_purchase'}
          onClose={close}
        />
      )}
    </Panel>
  );
}
