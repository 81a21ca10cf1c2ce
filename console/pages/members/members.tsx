import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { useList } from '../../api/lists.ts';
import { isOwner } from '../../api/members.ts';
import { refresh } from '../../api/queries.ts';
import type { Invitation, Member } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { Choice } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { Invite } from './invite.tsx';

/** Members of the account, and open invitations. */
export function MembersPage() {
  const [isInviting, setInviting] = useState(false);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Members')}</h1>
        {isOwner() ? (
          <div class="page-actions">
            <button type="button" class="button button-main" onClick={() => setInviting(true)}>
              <Icon name="plus" /> {t('Invite a member')}
            </button>
          </div>
        ) : null}
      </div>
      <Members />
      <Invitations />
      {isInviting ? <Invite onClose={() => setInviting(false)} /> : null}
    </div>
  );
}

function Members() {
  const listing = useList<Member>('/api/v1/members', {});
  const [leaving, setLeaving] = useState<Member>();
  const [lowering, setLowering] = useState<NewRole>();
  const changing = useAction(async ({ member, role }: NewRole) => {
    await send('PATCH', `/api/v1/members/${member.id}`, { body: { role } });
    if (member.you) {
      // what the pages offer depends on the role
      window.location.reload();
    }
    setLowering(undefined);
    refresh('/api/v1/members');
  });
  const removing = useAction(async ({ id }: Member) => {
    await send('DELETE', `/api/v1/members/${id}`);
    setLeaving(undefined);
    refresh('/api/v1/members');
  });
  const change = (next: NewRole) =>
    next.member.you || next.member.role === 'owner' ? setLowering(next) : void changing.run(next);
  const columns = memberColumns(change, setLeaving);
  return (
    <Panel flush>
      {changing.error === undefined || lowering ? null : <Problem error={changing.error} />}
      <List
        label={t('Members')}
        listing={listing}
        rowKey={({ id }) => id}
        empty={t('No members yet. Keys keep working as before.')}
        columns={columns}
      />
      {lowering === undefined ? null : (
        <Confirm
          title={t('Make {name} {role}?', { name: lowering.member.email, role: t(lowering.role) })}
          text={
            lowering.member.you
              ? t(
                  'This is you: afterwards you may do only what the new role allows. Another owner can undo it.',
                )
              : t('They lose the rights of an owner immediately.')
          }
          action={t('Change the role')}
          acting={changing}
          onConfirm={() => void changing.run(lowering)}
          onClose={() => setLowering(undefined)}
        />
      )}
      {leaving === undefined ? null : (
        <Confirm
          title={t('Remove {name}?', { name: leaving.email })}
          text={t(
            'Their sessions end immediately. Keys they created keep working; their spending stays in the reports.',
          )}
          action={t('Remove')}
          acting={removing}
          onConfirm={() => void removing.run(leaving)}
          onClose={() => setLeaving(undefined)}
        />
      )}
    </Panel>
  );
}

/** A role that a member is about to get. */
interface NewRole {
  readonly member: Member;
  readonly role: string;
}

function memberColumns(change: (next: NewRole) => void, remove: (member: Member) => void): Column<Member>[] {
  return [
    {
      name: t('Person'),
      cell: ({ email, name, you }) => (
        <>
          {email} {name === '' ? null : <span class="quiet">{name}</span>}{' '}
          {you ? <span class="quiet">({t('you')})</span> : null}
        </>
      ),
      card: 'wide',
    },
    {
      name: t('Role'),
      cell: (member) =>
        isOwner() ? (
          <Choice
            label={t('Role of {name}', { name: member.email })}
            bare
            value={member.role}
            options={['viewer', 'developer', 'owner'].map((name) => [name, t(name)])}
            onChange={(role) => change({ member, role })}
          />
        ) : (
          t(member.role)
        ),
      card: 'named',
    },
    {
      name: t('Last signed in'),
      cell: ({ signed_in_at: at }) => <Time at={at} relative />,
      card: 'named',
    },
    {
      name: t('Costs'),
      cell: ({ key_hash: key }) => <a href={to('usage', { key })}>{t('Usage & Costs')}</a>,
    },
    ...(isOwner()
      ? [
          {
            name: t('Action'),
            cell: (member: Member) => (
              <button type="button" class="button" onClick={() => remove(member)}>
                {t('Remove')}
              </button>
            ),
          },
        ]
      : []),
  ];
}

function Invitations() {
  const listing = useList<Invitation>('/api/v1/invitations', {});
  const withdrawing = useAction(async (id: string) => {
    await send('DELETE', `/api/v1/invitations/${id}`);
    refresh('/api/v1/invitations');
  });
  return (
    <Panel title={t('Open invitations')} flush>
      {withdrawing.error === undefined ? null : <Problem error={withdrawing.error} />}
      <List
        label={t('Open invitations')}
        listing={listing}
        rowKey={({ id }) => id}
        empty={t('No open invitations.')}
        columns={[
          { name: t('E-mail address'), cell: ({ email }) => email, card: 'wide' },
          { name: t('Role'), cell: ({ role }) => t(role), card: 'named' },
          { name: t('Invited by'), cell: ({ invited_by: by }) => by, card: 'named' },
          { name: t('Valid until'), cell: ({ ends_at: at }) => <Time at={at} />, card: 'named' },
          ...(isOwner()
            ? [
                {
                  name: t('Action'),
                  cell: ({ id }: Invitation) => (
                    <button
                      type="button"
                      class="button"
                      disabled={withdrawing.isPending}
                      onClick={() => void withdrawing.run(id)}
                    >
                      {t('Withdraw')}
                    </button>
                  ),
                },
              ]
            : []),
        ]}
      />
    </Panel>
  );
}
