import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { isOwner } from '../../api/members.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import { jsonUsd, parseTypedUsd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { Choice, Field } from '../../ui/field.tsx';

/** Asks for a name and a limit, creates the key, and shows its secret once. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  return secret === undefined ? (
    <CreateForm onClose={onClose} onCreated={setSecret} />
  ) : (
    <Secret secret={secret} onClose={onClose} />
  );
}

interface CreateFormProps {
  readonly onClose: () => void;
  readonly onCreated: (secret: string) => void;
}

function CreateForm({ onClose, onCreated }: CreateFormProps) {
  const [name, setName] = useState('');
  const [limit, setLimit] = useState('');
  const [reset, setReset] = useState('');
  const [expires, setExpires] = useState('');
  const [role, setRole] = useState('inference');
  const limitNano = limit.trim() === '' ? null : parseTypedUsd(limit);
  const sendOnce = useSendOnce();
  const creating = useAction(async () => {
    const body = {
      name: name.trim(),
      role,
      limit: limitNano === null || limitNano === undefined ? null : jsonUsd(limitNano),
      limit_reset: reset === '' ? null : reset,
      expires_at: expires === '' ? null : `${expires}T23:59:59Z`,
    };
    const answer = await sendOnce('/api/v1/keys', body);
    refresh('/api/v1/keys');
    onCreated(String(answer.body.key));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (limitNano !== undefined) {
      void creating.run();
    }
  };
  return (
    <Dialog title={t('Create key')} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field label={t('Name')} hint={t('Where the key is used: an app, a team, a person.')}>
          <input
            required
            maxLength={200}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <LimitField value={limit} isWrong={limitNano === undefined} onInput={setLimit} />
        <ResetChoice value={reset} onChange={setReset} />
        <Field label={t('Expires after (UTC day, optional)')}>
          <input type="date" value={expires} onInput={(event) => setExpires(event.currentTarget.value)} />
        </Field>
        <Choice
          label={t('Role')}
          value={role}
          options={[
            ['inference', t('inference: calls models')],
            ...(isOwner() ? [['owner', t('owner: also manages keys and billing')] as [string, string]] : []),
          ]}
          onChange={setRole}
        />
        {creating.error === undefined ? null : <Problem error={creating.error} />}
        <button type="submit" class="button button-main" disabled={creating.isPending}>
          {creating.isPending ? t('Creating …') : t('Create key')}
        </button>
      </form>
    </Dialog>
  );
}

interface LimitFieldProps {
  readonly value: string;
  readonly isWrong: boolean;
  readonly onInput: (value: string) => void;
}

export function LimitField({ value, isWrong, onInput }: LimitFieldProps) {
  return (
    <Field
      label={t('Spending limit in USD (optional)')}
      problem={isWrong ? t('An amount like 25 or 12.50') : undefined}
      hint={t('Without a limit, the key can spend all credits of the account.')}
    >
      <input
        inputMode="decimal"
        placeholder="25.00"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </Field>
  );
}

interface ResetChoiceProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function ResetChoice({ value, onChange }: ResetChoiceProps) {
  return (
    <Choice
      label={t('The limit applies to')}
      value={value}
      options={[
        ['', t('the lifetime of the key')],
        ['daily', t('each day (UTC)')],
        ['weekly', t('each week (UTC, from Monday)')],
        ['monthly', t('each month (UTC)')],
      ]}
      onChange={onChange}
    />
  );
}

function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const [isSaved, setSaved] = useState(false);
  return (
    <Dialog title={t('Key created')} onClose={onClose} mustAnswer={!isSaved}>
      <p>{t('The secret is shown only once. It is not stored and cannot be shown again.')}</p>
      <p class="secret">{secret}</p>
      <div>
        <Copy text={secret} label={t('Copy the secret')} word={t('Copy')} />
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={isSaved}
          onChange={(event) => setSaved(event.currentTarget.checked)}
        />
        {t('I have saved it')}
      </label>
      <div class="dialog-actions">
        <button type="button" class="button button-main" disabled={!isSaved} onClick={onClose}>
          {t('Done')}
        </button>
      </div>
    </Dialog>
  );
}
