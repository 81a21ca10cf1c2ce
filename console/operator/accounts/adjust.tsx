import { useState } from 'preact/hooks';
import { useActing } from '../../api/acting.ts';
import { send } from '../../api/client.ts';
import type { Account } from '../../api/types.gen.ts';
import { parseUsd, plainUsd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { Choice, Field } from '../../ui/field.tsx';

interface AdjustDialogProps {
  readonly account: Account;
  readonly onClose: () => void;
}

/** Books a signed correction. It is booked once, however often the button is pressed. */
export function AdjustDialog({ account, onClose }: AdjustDialogProps) {
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [amount, setAmount] = useState('');
  const [kind, setKind] = useState('goodwill');
  const [description, setDescription] = useState('');
  const nano = parseUsd(amount);
  const isWrong = amount.trim() !== '' && !nano;
  const booking = useActing(async () => {
    await send('POST', `/admin/v1/accounts/${account.id}/adjustments`, {
      headers: { 'idempotency-key': idempotencyKey },
      body: { amount: plainUsd(nano ?? 0n), description: description.trim(), reason: kind },
    });
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void booking.run();
  };
  return (
    <Dialog title={t('Credit or debit “{name}”', { name: account.name })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>
          {t('Balance now')}: <Amount value={account.remaining_credits} />
        </p>
        <Field
          label={t('Amount in USD')}
          hint={t('Above zero: given. Below zero, such as -2.50: taken.')}
          problem={isWrong ? t('A plain amount that is not zero, such as 12.50 or -2.50') : undefined}
        >
          <input
            type="text"
            inputMode="text"
            required
            value={amount}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
        </Field>
        <Choice
          label={t('What the books call it')}
          value={kind}
          options={[
            ['goodwill', t('Goodwill')],
            ['grant', t('Grant')],
            ['correction', t('Correction')],
          ]}
          onChange={setKind}
        />
        <Field label={t('Reason')} hint={t('It stands in the books and on the customer’s statement.')}>
          <input
            type="text"
            required
            maxLength={500}
            value={description}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        </Field>
        {booking.error === undefined ? null : <Problem error={booking.error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t('Not now')}
          </button>
          <button type="submit" class="button button-main" disabled={isWrong || booking.isPending}>
            {t('Book it')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
