import { useState } from 'preact/hooks';
import { useList } from '../../api/lists.ts';
import type { Account } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Choice } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { OpenAccount } from './open-account.tsx';

/** All accounts, newest first. An id is found by the box at the top. */
export function AccountsPage() {
  const [name, setName] = useQueryState('q', '');
  const [suspended, setSuspended] = useQueryState('suspended', '');
  const listing = useList<Account>('/admin/v1/accounts', { q: name, suspended });
  const [isOpening, setOpening] = useState(false);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Accounts')}</h1>
        <div class="page-actions filters">
          <input
            type="search"
            aria-label={t('Part of the name')}
            placeholder={t('Part of the name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value.trim())}
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
          empty={t('There is no account, or none that the filters let through.')}
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
              cell: ({ suspended, debt }) => (
                <Status of={suspended ? 'suspended' : debt === '0.00' ? 'enabled' : 'attention'} />
              ),
            },
            { name: t('Held'), cell: ({ held }) => <Amount value={held} />, number: true, card: 'hidden' },
            { name: t('Used'), cell: ({ total_usage: used }) => <Amount value={used} />, number: true },
            { name: t('Debt'), cell: ({ debt }) => <Amount value={debt} />, number: true, card: 'hidden' },
            { name: t('Opened'), cell: ({ created_at: at }) => <Time at={at} relative /> },
          ]}
        />
      </Panel>
      {isOpening ? <OpenAccount onClose={() => setOpening(false)} /> : null}
    </div>
  );
}
