import { useState } from 'preact/hooks';
import { useList } from '../../api/lists.ts';
import { mayChangeKeys } from '../../api/members.ts';
import type { ApiKey } from '../../api/types.gen.ts';
import { useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Icon } from '../../ui/icon.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { CreateKey } from './create-key.tsx';
import { Limit, stateOf } from './key-limit.tsx';
import { KeySheet } from './key-sheet.tsx';

/** The keys of the account with their limits and spending. */
export function KeysPage() {
  const listing = useList<ApiKey>('/api/v1/keys', {});
  const [chosen, choose] = useQueryState('key', '');
  const [isCreating, setCreating] = useState(false);
  const create = (
    <button type="button" class="button button-main" onClick={() => setCreating(true)}>
      <Icon name="plus" /> {t('Create key')}
    </button>
  );
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Keys')}</h1>
        {mayChangeKeys() ? <div class="page-actions">{create}</div> : null}
      </div>
      <Panel flush>
        <List
          label={t('Keys')}
          listing={listing}
          columns={columns(choose)}
          rowKey={({ hash }) => hash}
          empty={t('There are no keys yet.')}
        />
      </Panel>
      {isCreating ? <CreateKey onClose={() => setCreating(false)} /> : null}
      {chosen === '' ? null : <KeySheet hash={chosen} onClose={() => choose('')} />}
    </div>
  );
}

function columns(choose: (hash: string) => void): Column<ApiKey>[] {
  return [
    {
      name: t('Name'),
      cell: ({ name, hash }) => (
        <button type="button" class="row-button" onClick={() => choose(hash)}>
          {name}
        </button>
      ),
    },
    { name: t('State'), cell: (key) => <Status of={stateOf(key)} /> },
    { name: t('Key'), cell: ({ label }) => <span class="mono">{label}</span>, card: 'wide', clip: true },
    { name: t('Role'), cell: ({ role }) => t(role), card: 'named' },
    { name: t('Spent / limit'), cell: (key) => <Limit of={key} />, card: 'wide' },
    {
      name: t('Expires'),
      cell: ({ expires_at: at }) => (at === null ? '–' : <Time at={at} />),
      card: 'named',
    },
    {
      name: t('Last used'),
      cell: ({ last_used_at: at }) => (at === null ? t('never') : <Time at={at} relative />),
      card: 'named',
    },
  ];
}
