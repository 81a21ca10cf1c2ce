import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { useList } from '../../api/lists.ts';
import { refresh } from '../../api/queries.ts';
import type { OperatorBrowser } from '../../api/types.gen.ts';
import { SERVICE } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Problem } from '../../ui/feedback.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

const PATH = '/admin/v1/sessions';

/** Browsers of operators who signed in with the OpenID provider; each can be signed out. */
export function SessionsPage() {
  const listing = useList<OperatorBrowser>(PATH, {});
  const ending = useAction(async (id: string) => {
    await send('DELETE', `${PATH}/${id}`);
    refresh(PATH);
  });
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Sessions')}</h1>
      <Panel title={t('Signed-in browsers')} flush>
        {ending.error === undefined ? null : <Problem error={ending.error} />}
        <List
          label={t('Signed-in browsers')}
          listing={listing}
          rowKey={({ id }) => id}
          empty={t('Nobody is signed in through the OpenID provider.')}
          columns={columns((id) => void ending.run(id), ending.isPending)}
        />
      </Panel>
      <p class="small quiet">
        {t(
          'Sign-ins with a token are not listed: those sessions end within eight hours, or immediately when the token changes.',
        )}
      </p>
    </div>
  );
}

function columns(end: (id: string) => void, isPending: boolean): Column<OperatorBrowser>[] {
  return [
    { name: t('Operator'), cell: ({ operator }) => operator, card: 'wide' },
    { name: t('Browser'), cell: ({ user_agent: agent }) => agent || '–', clip: true, card: 'wide' },
    { name: t('Address'), cell: ({ address }) => <span class="mono">{address}</span>, card: 'named' },
    { name: t('Since'), cell: ({ created_at: at }) => <Time at={at} relative />, card: 'named' },
    { name: t('Until'), cell: ({ ends_at: at }) => <Time at={at} />, card: 'hidden' },
    {
      name: t('Action'),
      cell: ({ id, current }) =>
        current ? (
          <a class="button" href={`${SERVICE}admin/logout`} target="_self">
            {t('Sign out here')}
          </a>
        ) : (
          <button type="button" class="button" disabled={isPending} onClick={() => end(id)}>
            {t('Sign out')}
          </button>
        ),
    },
  ];
}
