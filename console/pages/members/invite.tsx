import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import { t } from '../../lib/text.ts';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { Choice, Field } from '../../ui/field.tsx';

/** Returns the roles, in the user's language. */
function roleOptions(): [string, string][] {
  return [
    ['viewer', t('viewer: read only')],
    ['developer', t('developer: also calls models and creates keys')],
    ['owner', t('owner: also manages billing and members')],
  ];
}

/** Asks for an address and a role, then shows the invitation link once. */
export function Invite({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState<string>();
  return (
    <Dialog
      title={url === undefined ? t('Invite a member') : t('Invitation created')}
      onClose={onClose}
      mustAnswer={url !== undefined}
    >
      {url === undefined ? <InviteForm onInvited={setUrl} /> : <Link url={url} onClose={onClose} />}
    </Dialog>
  );
}

function InviteForm({ onInvited }: { readonly onInvited: (url: string) => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('developer');
  const sendOnce = useSendOnce();
  const inviting = useAction(async () => {
    const answer = await sendOnce('/api/v1/invitations', { email: email.trim(), role });
    refresh('/api/v1/invitations');
    onInvited(String(answer.body.url));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void inviting.run();
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field
        label={t('E-mail address')}
        hint={t('Only a person who signs in with this address can use the link.')}
      >
        <input
          type="email"
          required
          maxLength={200}
          autoComplete="off"
          value={email}
          onInput={(event) => setEmail(event.currentTarget.value)}
        />
      </Field>
      <Choice label={t('Role')} value={role} options={roleOptions()} onChange={setRole} />
      {inviting.error === undefined ? null : <Problem error={inviting.error} />}
      <button type="submit" class="button button-main" disabled={inviting.isPending}>
        {inviting.isPending ? t('Inviting …') : t('Invite')}
      </button>
    </form>
  );
}

function Link({ url, onClose }: { readonly url: string; readonly onClose: () => void }) {
  return (
    <>
      <p>{t('Send them this link. It can be used once, within seven days, and will not be shown again.')}</p>
      <p class="secret">{url}</p>
      <div>
        <Copy text={url} label={t('Copy the link')} word={t('Copy')} />
      </div>
      <div class="dialog-actions">
        <button type="button" class="button button-main" onClick={onClose}>
          {t('Done')}
        </button>
      </div>
    </>
  );
}
