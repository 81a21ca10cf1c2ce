import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import type { Account } from '../../api/types.gen.ts';
import { parseTypedUsd, plainUsd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice, Problem } from '../../ui/feedback.tsx';
import { Field } from '../../ui/field.tsx';

/** Opens an account; its owner key is shown once. */
export function OpenAccount({ onClose }: { readonly onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const close = () => {
    refresh('/admin/v1/accounts');
    onClose();
  };
  return (
    <Dialog title={t('Open account')} onClose={close} mustAnswer={secret !== undefined}>
      {secret === undefined ? (
        <OpenForm onOpened={setSecret} onClose={onClose} />
      ) : (
        <Secret text={secret} onDone={close} />
      )}
    </Dialog>
  );
}

interface OpenFormProps {
  readonly onOpened: (secret: string) => void;
  readonly onClose: () => void;
}

function OpenForm({ onOpened, onClose }: OpenFormProps) {
  const sendOnce = useSendOnce();
  const [name, setName] = useState('');
  const [credits, setCredits] = useState('');
  const nano = credits.trim() === '' ? 0n : parseTypedUsd(credits);
  const isWrong = nano === undefined || nano < 0n;
  const opening = useAction(async () => {
    const { body } = await sendOnce<Account>('/admin/v1/accounts', {
      name: name.trim(),
      ...(nano && { credits: plainUsd(nano) }),
    });
    onOpened(String(body.key));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void opening.run();
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field label={t('Name')}>
        <input
          type="text"
          required
          maxLength={200}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </Field>
      <Field
        label={t('Granted credits in USD (optional)')}
        hint={t('Granted, not sold: they do not count as revenue.')}
        problem={isWrong ? t('An amount such as 12.50') : undefined}
      >
        <input
          type="text"
          inputMode="decimal"
          value={credits}
          onInput={(event) => setCredits(event.currentTarget.value)}
        />
      </Field>
      {opening.error === undefined ? null : <Problem error={opening.error} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="submit" class="button button-main" disabled={isWrong || opening.isPending}>
          {t('Open account')}
        </button>
      </div>
    </form>
  );
}

function Secret({ text, onDone }: { readonly text: string; readonly onDone: () => void }) {
  return (
    <div class="form">
      <Notice tone="wait">
        <p>{t('The owner key of the account. It is shown only once and not stored.')}</p>
      </Notice>
      <p class="secret">{text}</p>
      <div class="dialog-actions">
        <Copy text={text} label={t('Copy the key')} word={t('Copy')} />
        <button type="button" class="button button-main" onClick={onDone}>
          {t('Done')}
        </button>
      </div>
    </div>
  );
}
