import { isOwner } from '../../api/members.ts';
import { useRead } from '../../api/queries.ts';
import type { AccountOverview } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Tabs } from '../../ui/field.tsx';
import { Figure } from '../../ui/panel.tsx';
import { Buy } from './buy.tsx';
import { PaymentCancelled, PaymentReturn } from './payment-return.tsx';
import { Statements } from './statements.tsx';
import { Transactions } from './transactions.tsx';

/** Buying credits, movements of the balance, and monthly statements. */
export function BillingPage() {
  const [tab] = useQueryState('tab', 'transactions');
  const [paid] = useQueryState('session', '');
  const [cancelled] = useQueryState('cancelled', '');
  const account = useRead<AccountOverview>('/api/v1/account', {}, { everyMs: 10_000 });
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Billing')}</h1>
      {paid === '' ? null : <PaymentReturn session={paid} />}
      {cancelled === '' ? null : <PaymentCancelled session={cancelled} />}
      <dl class="figures">
        <Figure label={t('Available')} note={t('available for new calls')}>
          <Amount value={account.data?.available} short />
        </Figure>
        <Figure label={t('Held')} note={t('reserved for running calls; charged or released when they end')}>
          <Amount value={account.data?.held} short />
        </Figure>
        <Figure label={t('Balance')} note={t('available plus held, as recorded in the ledger')}>
          <Amount value={account.data?.remaining_credits} short />
        </Figure>
        {account.data === undefined || account.data.debt === '0.00' ? null : (
          <Figure label={t('Debt')} note={t('from reversed payments; new credits repay it first')}>
            <Amount value={account.data.debt} short />
          </Figure>
        )}
      </dl>
      {isOwner() ? <Buy account={account.data} /> : null}
      <Tabs
        label={t('Billing')}
        value={tab}
        options={[
          ['transactions', t('Transactions'), to('billing')],
          ['statements', t('Statements'), to('billing', { tab: 'statements' })],
        ]}
      />
      {tab === 'statements' ? <Statements /> : <Transactions />}
    </div>
  );
}
