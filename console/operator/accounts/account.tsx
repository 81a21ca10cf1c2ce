import { useRoute } from 'preact-iso/router';
import { useRead } from '../../api/queries.ts';
import type { Account } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Id } from '../../ui/copy.tsx';
import { Notice, Problem, Skeleton } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/field.tsx';
import { Figure } from '../../ui/panel.tsx';
import { Time } from '../../ui/time.tsx';
import { ChargeSheet } from '../charge-sheet.tsx';
import { AccountActs } from './account-acts.tsx';
import { AccountCosts } from './account-costs.tsx';
import { AccountAudit, AccountGenerations, AccountKeys, AccountTasks } from './account-lists.tsx';
import { AccountTransactions } from './account-transactions.tsx';

const LIVE_MS = 10_000;

/** One account: its money, its activity, and the actions of an operator. */
export function AccountPage() {
  const { params } = useRoute();
  const id = params.id ?? '';
  const [tab] = useQueryState('tab', 'generations');
  const [charge, chooseCharge] = useQueryState('charge', '');
  const reading = useRead<Account>(`/admin/v1/accounts/${id}`, {}, { everyMs: LIVE_MS });
  const account = reading.data;
  if (!account) {
    return (
      <div class="page">
        <h1 tabIndex={-1}>{t('Account')}</h1>
        {reading.error ? <Problem error={reading.error} retry={reading.refetch} /> : <Skeleton lines={8} />}
      </div>
    );
  }
  return (
    <div class="page">
      <div>
        <h1 tabIndex={-1}>{account.name}</h1>
        <Id value={account.id} />
      </div>
      <Standing account={account} />
      <Money account={account} />
      {account.erased_at === null ? <AccountActs account={account} /> : null}
      <Tabs label={t('Account')} value={tab} options={tabsOf(id)} />
      <Chosen tab={tab} id={id} />
      {charge === '' ? null : <ChargeSheet id={charge} onClose={() => chooseCharge('')} />}
    </div>
  );
}

function Standing({ account: { erased_at, suspended } }: { readonly account: Account }) {
  const isErased = erased_at !== null;
  return isErased || suspended ? (
    <Notice tone="bad">
      <p>
        {isErased
          ? t('Erased: closed for good. Its books are kept.')
          : t('Suspended: read only, no calls and no changes.')}
      </p>
    </Notice>
  ) : null;
}

function Money({ account }: { readonly account: Account }) {
  return (
    <dl class="figures">
      <Figure label={t('Balance')}>
        <Amount value={account.remaining_credits} short />
      </Figure>
      <Figure label={t('Held')} note={t('part of the balance, for running calls and tasks')}>
        <Amount value={account.held} short />
      </Figure>
      <Figure
        label={t('Used, 24 hours')}
        note={
          <>
            <Amount value={account.usage_30d} short /> {t('in 30 days')}
          </>
        }
      >
        <Amount value={account.usage_24h} short />
      </Figure>
      <Figure
        label={t('Used')}
        note={
          account.last_used_at === null ? (
            t('since the account was opened')
          ) : (
            <>
              {t('Last used')} <Time at={account.last_used_at} relative />
            </>
          )
        }
      >
        <Amount value={account.total_usage} short />
      </Figure>
      <Figure label={t('Debt')} note={t('from reversed payments; blocks new calls')}>
        <Amount value={account.debt} short />
      </Figure>
    </dl>
  );
}

function tabsOf(id: string): [string, string, string][] {
  const page = `operator/accounts/${id}`;
  return [
    ['generations', t('Calls'), to(page)],
    ['transactions', t('Transactions'), to(page, { tab: 'transactions' })],
    ['costs', t('Costs'), to(page, { tab: 'costs' })],
    ['tasks', t('Tasks'), to(page, { tab: 'tasks' })],
    ['keys', t('Keys'), to(page, { tab: 'keys' })],
    ['audit', t('Audit log'), to(page, { tab: 'audit' })],
  ];
}

function Chosen({ tab, id }: { readonly tab: string; readonly id: string }) {
  switch (tab) {
    case 'transactions':
      return <AccountTransactions id={id} />;
    case 'costs':
      return <AccountCosts id={id} />;
    case 'tasks':
      return <AccountTasks id={id} />;
    case 'keys':
      return <AccountKeys id={id} />;
    case 'audit':
      return <AccountAudit id={id} />;
    default:
      return <AccountGenerations id={id} />;
  }
}
