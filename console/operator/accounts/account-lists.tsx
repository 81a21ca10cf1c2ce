import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { useList } from '../../api/lists.ts';
import { refresh } from '../../api/queries.ts';
import type { ApiKey, Generation } from '../../api/types.gen.ts';
import { useQueryState } from '../../lib/location.ts';
import { formatTokens, t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { AuditList } from '../audit-list.tsx';
import { TaskList } from '../task-list.tsx';

const LIVE_MS = 10_000;

interface OfAccount {
  readonly id: string;
}

/** Calls of the account, newest first; each links to the record that explains its charge. */
export function AccountGenerations({ id }: OfAccount) {
  const [, chooseCharge] = useQueryState('charge', '');
  const path = `/admin/v1/accounts/${id}/generations`;
  const listing = useList<Generation>(path, {}, { everyMs: LIVE_MS });
  return (
    <Panel flush>
      <List
        label={t('Calls')}
        listing={listing}
        rowKey={(row) => row.id}
        empty={t('No calls yet.')}
        columns={[
          {
            name: t('Time'),
            cell: (row) => (
              <button type="button" class="row-button" onClick={() => chooseCharge(row.id)}>
                <Time at={row.created_at} relative />
              </button>
            ),
          },
          { name: t('Charged'), cell: (row) => <Amount value={row.charged_amount} />, number: true },
          { name: t('Model'), cell: ({ model }) => model, clip: true },
          { name: t('State'), cell: ({ status }) => <Status of={status} /> },
          { name: t('Error'), cell: ({ error }) => error?.code ?? '–' },
          {
            name: t('Tokens'),
            cell: ({ usage }) => formatTokens(usage),
            number: true,
            card: 'hidden',
          },
        ]}
      />
    </Panel>
  );
}

export function AccountTasks({ id }: OfAccount) {
  return (
    <Panel flush>
      <TaskList query={{ account_id: id }} />
    </Panel>
  );
}

/** Operator actions on the account. */
export function AccountAudit({ id }: OfAccount) {
  return (
    <Panel flush>
      <AuditList query={{ object: id }} />
    </Panel>
  );
}

/** The keys of the account; each can be disabled at once. */
export function AccountKeys({ id }: OfAccount) {
  const path = `/admin/v1/accounts/${id}/keys`;
  const listing = useList<ApiKey>(path, {});
  const switching = useAction(async (key: ApiKey) => {
    await send('PATCH', `${path}/${key.hash}`, { body: { disabled: !key.disabled } });
    refresh(path);
  });
  return (
    <Panel flush>
      {switching.error === undefined ? null : <Problem error={switching.error} />}
      <List
        label={t('Keys')}
        listing={listing}
        rowKey={({ hash }) => hash}
        empty={t('There are no keys yet.')}
        columns={[
          { name: t('Name'), cell: ({ name }) => name, clip: true },
          { name: t('State'), cell: ({ disabled }) => <Status of={disabled ? 'disabled' : 'enabled'} /> },
          {
            name: t('Key'),
            cell: ({ label }) => <span class="mono">{label}</span>,
            card: 'wide',
            clip: true,
          },
          { name: t('Role'), cell: ({ role }) => t(role), card: 'named' },
          {
            name: t('Last used'),
            cell: ({ last_used_at: at }) => (at === null ? t('never') : <Time at={at} relative />),
            card: 'named',
          },
          {
            name: t('Action'),
            cell: (key) => (
              <button
                type="button"
                class="button"
                disabled={switching.isPending}
                onClick={() => void switching.run(key)}
              >
                {key.disabled ? t('Enable') : t('Disable')}
              </button>
            ),
          },
        ]}
      />
    </Panel>
  );
}
