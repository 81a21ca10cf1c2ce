import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { useList } from '../../api/lists.ts';
import { isOwner } from '../../api/members.ts';
import { refresh, useRead } from '../../api/queries.ts';
import { currentSession, signOut } from '../../api/session.ts';
import type { AccountOverview, SessionSummary } from '../../api/types.gen.ts';
import { forgetPrompts, promptCount } from '../../lib/device-store.ts';
import { formatCount, t } from '../../lib/text.ts';
import { Id } from '../../ui/copy.tsx';
import { Loaded, Problem } from '../../ui/feedback.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Time } from '../../ui/time.tsx';
import { AlertsPanel } from './alerts.tsx';
import { SigningSecret } from './signing-secret.tsx';

/** The account, its signed-in browsers, and the data stored on this device. */
export function AccountPage() {
  const account = useRead<AccountOverview>('/api/v1/account');
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Account')}</h1>
      <Panel title={t('Account')}>
        <Loaded reading={account}>{(data) => <Facts account={data} />}</Loaded>
      </Panel>
      {isOwner() ? <AlertsPanel /> : null}
      {isOwner() ? <SigningSecret /> : null}
      <Sessions />
      <Device />
    </div>
  );
}

function Facts({ account }: { readonly account: AccountOverview }) {
  const { limits } = account;
  return (
    <dl class="facts">
      <dt>{t('Name')}</dt>
      <dd>{account.name}</dd>
      <dt>{t('Id')}</dt>
      <dd>
        <Id value={account.id} />
      </dd>
      <dt>{t('Opened')}</dt>
      <dd>
        <Time at={account.created_at} />
      </dd>
      <dt>{t('Limits, shared by all keys')}</dt>
      <dd>
        {t('{requests} requests and {tokens} tokens per minute, {concurrency} concurrent calls', {
          requests: formatCount(limits.requests_per_minute),
          tokens: formatCount(limits.tokens_per_minute),
          concurrency: formatCount(limits.concurrency),
        })}
      </dd>
    </dl>
  );
}

function Sessions() {
  const listing = useList<SessionSummary>('/api/v1/sessions', {});
  const ending = useAction(async (id: string) => {
    await send('DELETE', `/api/v1/sessions/${id}`);
    refresh('/api/v1/sessions');
  });
  const endingAll = useAction(async () => {
    await send('DELETE', '/api/v1/sessions');
    window.location.reload();
  });
  const everywhere = (
    <button
      type="button"
      class="button button-bad"
      disabled={endingAll.isPending}
      onClick={() => void endingAll.run()}
    >
      {t('Sign out everywhere')}
    </button>
  );
  return (
    <Panel title={t('Signed-in browsers')} actions={everywhere} flush>
      {ending.error === undefined ? null : <Problem error={ending.error} />}
      {endingAll.error === undefined ? null : <Problem error={endingAll.error} />}
      <List
        label={t('Signed-in browsers')}
        listing={listing}
        rowKey={({ id }) => id}
        empty={t('No signed-in browsers.')}
        columns={[
          { name: t('Browser'), cell: ({ user_agent: agent }) => agent || '–', clip: true, card: 'wide' },
          {
            name: t('Address'),
            cell: ({ address }) => (address === '' ? '–' : <span class="mono">{address}</span>),
            card: 'named',
          },
          { name: t('Key'), cell: ({ key }) => key.name, clip: true, card: 'named' },
          { name: t('Last seen'), cell: ({ seen_at: at }) => <Time at={at} relative />, card: 'named' },
          {
            name: t('Action'),
            cell: ({ id, current }) => (
              <button
                type="button"
                class="button"
                disabled={ending.isPending}
                onClick={() => void (current ? signOut() : ending.run(id))}
              >
                {current ? t('Sign out here') : t('Sign out')}
              </button>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function Device() {
  const [count, setCount] = useState(promptCount);
  return (
    <Panel title={t('This device')}>
      <div class="form">
        <p>
          {t(
            'Prompts of tasks kept on this device only: {count}. The service forgets them when a task ends.',
            { count },
          )}
        </p>
        <button
          type="button"
          class="button"
          disabled={count === 0}
          onClick={() => {
            forgetPrompts();
            setCount(0);
          }}
        >
          {t('Forget all')}
        </button>
        <p class="small quiet">
          {t('Signed in until')} <Time at={currentSession().ends_at} />
        </p>
      </div>
    </Panel>
  );
}
