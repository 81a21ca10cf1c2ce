import { useState } from 'preact/hooks';
import { useList } from '../../api/lists.ts';
import type { Account } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Choice } from '../../ui/field.tsx';
import { TextFilter } from '../../ui/filters.tsx';
import { Icon } from '../../ui/icon.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { OpenAccount } from './open-account.tsx';

/** All accounts, newest first by default. Ids are found with the search box at the top. */
export function AccountsPage() {
  const [name, setName] = useQueryState('q', '');
  const [suspended, setSuspended] = useQueryState('suspended', '');
  const [sort, setSort] = useQueryState('sort', 'created_at');
  const listing = useList<Account>('/admin/v1/accounts', { q: name, suspended, sort });
  const [isOpening, setOpening] = useState(false);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Accounts')}</h1>
        <div class="page-actions filters">
          <TextFilter
            label={t('Filter by name')}
            placeholder={t('Filter by name')}
            value={name}
            onChange={setName}
          />
          <Choice
            bare
            label={t('State')}
            value={suspended}
            options={[
              ['', t('All states')],
              ['false', t('Not suspended')],
              ['true', t('suspended')],
            ]}
            onChange={setSuspended}
          />
          <Choice
            bare
            label={t('Order')}
            value={sort}
            options={[
              ['created_at', t('Newest first')],
              ['remaining_credits', t('Highest balance first')],
              ['usage_30d', t('Most used first')],
              ['last_used_at', t('Recently used first')],
            ]}
            onChange={setSort}
          />
          <button type="button" class="button button-main" onClick={() => setOpening(true)}>
            <Icon name="plus" /> {t('Open account')}
          </button>
        </div>
      </div>
      <Panel flush>
        <List
          label={t('Accounts')}
          listing={listing}
          rowKey={({ id }) => id}
          empty={t('No accounts, or none that match the filters.')}
          columns={[
            {
              name: t('Name'),
              cell: ({ id, name }) => <a href={to(`operator/accounts/${id}`)}>{name}</a>,
              clip: true,
            },
            {
              name: t('Balance'),
              cell: ({ remaining_credits: amount }) => <Amount value={amount} />,
              number: true,
            },
            {
              name: t('State'),
              cell: (row) => <Status of={stateOf(row)} />,
            },
            { name: t('Held'), cell: ({ held }) => <Amount value={held} />, number: true, card: 'hidden' },
            { name: t('Used, 24 hours'), cell: (row) => <Amount value={row.usage_24h} />, number: true },
            { name: t('Used, 30 days'), cell: (row) => <Amount value={row.usage_30d} />, number: true },
            { name: t('Debt'), cell: ({ debt }) => <Amount value={debt} />, number: true, card: 'hidden' },
            {
              name: t('Last used'),
              cell: ({ last_used_at: at }) => (at === null ? '–' : <Time at={at} relative />),
              number: true,
            },
            { name: t('Opened'), cell: ({ created_at: at }) => <Time at={at} relative />, card: 'hidden' },
          ]}
        />
      </Panel>
      {isOpening ? <OpenAccount onClose={() => setOpening(false)} /> : null}
    </div>
  );
}

function stateOf({ erased_at, suspended, debt }: Account): string {
  if (erased_at !== null) {
    return 'erased';
  }
  return suspended ? 'suspended' : debt === '0.00' ? 'enabled' : 'attention';
}
