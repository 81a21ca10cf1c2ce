import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { isOwner, mayChangeKeys } from '../../api/members.ts';
import { refresh, useRead } from '../../api/queries.ts';
import { currentSession } from '../../api/session.ts';
import type { ApiKey } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { jsonUsd, parseTypedUsd, plainUsd, usdOfNumber } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Id } from '../../ui/copy.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Loaded, Notice, Problem } from '../../ui/feedback.tsx';
import { Field } from '../../ui/field.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { LimitField, ResetChoice } from './create-key.tsx';
import { Limit, stateOf } from './key-limit.tsx';

/** One key: its spending, its permissions, and its actions. */
export function KeySheet({ hash, onClose }: { readonly hash: string; readonly onClose: () => void }) {
  const reading = useRead<ApiKey>(`/api/v1/keys/${hash}`);
  return (
    <Dialog title={reading.data?.name ?? t('Key')} kind="sheet" onClose={onClose}>
      <Loaded reading={reading}>{(key) => <KeyDetails of={key} onGone={onClose} />}</Loaded>
    </Dialog>
  );
}

function KeyDetails({ of: key, onGone }: { readonly of: ApiKey; readonly onGone: () => void }) {
  return (
    <div class="form">
      <dl class="facts">
        <dt>{t('State')}</dt>
        <dd>
          <Status of={stateOf(key)} />
        </dd>
        <dt>{t('Spent / limit')}</dt>
        <dd>
          <Limit of={key} />
        </dd>
        <dt>{t('Role')}</dt>
        <dd>{t(key.role)}</dd>
        <dt>{t('Created')}</dt>
        <dd>
          <Time at={key.created_at} />
        </dd>
        <dt>{t('Last used')}</dt>
        <dd>{key.last_used_at === null ? t('never') : <Time at={key.last_used_at} relative />}</dd>
        <dt>{t('Expires')}</dt>
        <dd>{key.expires_at === null ? t('does not expire') : <Time at={key.expires_at} />}</dd>
        <dt>{t('Hash')}</dt>
        <dd>
          <Id value={key.hash} />
        </dd>
      </dl>
      <p>
        <a href={to('usage', { key: key.hash })}>{t('Usage and costs of this key')}</a> ·{' '}
        <a href={to('generations', { key: key.hash })}>{t('Generations of this key')}</a>
      </p>
      {mayChangeKeys() && (key.role !== 'owner' || isOwner()) ? (
        <>
          <EditKey of={key} />
          <EndKey of={key} onGone={onGone} />
        </>
      ) : null}
    </div>
  );
}

function EditKey({ of: key }: { readonly of: ApiKey }) {
  const [name, setName] = useState(key.name);
  const [limit, setLimit] = useState(key.limit === null ? '' : plainUsd(usdOfNumber(key.limit)));
  const [reset, setReset] = useState<string>(key.limit_reset ?? '');
  const [isDone, setDone] = useState(false);
  const limitNano = limit.trim() === '' ? null : parseTypedUsd(limit);
  const saving = useAction(async () => {
    const body = {
      name: name.trim(),
      limit: typeof limitNano === 'bigint' ? jsonUsd(limitNano) : null,
      limit_reset: reset === '' ? null : reset,
    };
    await send('PATCH', `/api/v1/keys/${key.hash}`, { body });
    refresh('/api/v1/keys');
    setDone(true);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (limitNano !== undefined) {
      void saving.run();
    }
  };
  return (
    <form class="form" onSubmit={submit} onInput={() => setDone(false)}>
      <Field label={t('Name')}>
        <input
          required
          maxLength={200}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </Field>
      <LimitField value={limit} isWrong={limitNano === undefined} onInput={setLimit} />
      <ResetChoice value={reset} onChange={setReset} />
      {saving.error === undefined ? null : <Problem error={saving.error} />}
      {isDone && !saving.isPending && saving.error === undefined ? (
        <Notice tone="good">{t('Saved. Takes effect everywhere within a second.')}</Notice>
      ) : null}
      <button type="submit" class="button" disabled={saving.isPending}>
        {t('Save')}
      </button>
    </form>
  );
}

function EndKey({ of: key, onGone }: { readonly of: ApiKey; readonly onGone: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const isOwn = currentSession().key.hash === key.hash;
  const switching = useAction(async () => {
    await send('PATCH', `/api/v1/keys/${key.hash}`, { body: { disabled: !key.disabled } });
    refresh('/api/v1/keys');
  });
  const deleting = useAction(async () => {
    await send('DELETE', `/api/v1/keys/${key.hash}`);
    onGone();
    refresh('/api/v1/keys');
  });
  if (isOwn) {
    return (
      <p class="quiet small">{t('You are signed in with this key: it cannot disable or delete itself.')}</p>
    );
  }
  return (
    <>
      {switching.error === undefined ? null : <Problem error={switching.error} />}
      <div class="form-row">
        <button
          type="button"
          class="button"
          disabled={switching.isPending}
          onClick={() => void switching.run()}
        >
          {key.disabled ? t('Enable') : t('Disable')}
        </button>
        <button type="button" class="button button-bad" onClick={() => setAsking(true)}>
          {t('Delete …')}
        </button>
      </div>
      {isAsking ? (
        <Confirm
          title={t('Delete the key “{name}”?', { name: key.name })}
          text={t(
            'Calls with this key will be rejected permanently. Its spending stays in the reports. The balance does not change.',
          )}
          action={t('Delete the key')}
          acting={deleting}
          onConfirm={() => void deleting.run()}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}
