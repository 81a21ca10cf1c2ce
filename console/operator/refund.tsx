import { useState } from 'preact/hooks';
import { useActing } from '../api/acting.ts';
import { send } from '../api/client.ts';
import { parseUsd, plainUsd } from '../lib/money.ts';
import { t } from '../lib/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/feedback.tsx';
import { Field } from '../ui/field.tsx';

export interface RefundDialogProps {
  readonly account: string;
  /** Of the charge that is given back. */
  readonly generation?: string;
  /** Of the purchase or charge that is given back. */
  readonly transaction?: string;
  readonly onClose: () => void;
}

/** Gives a charge back, or takes a purchase back. Booked once, however often the button is pressed. */
export function RefundDialog({ account, generation, transaction, onClose }: RefundDialogProps) {
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  const nano = amount.trim() === '' ? undefined : parseUsd(amount);
  const isWrong = amount.trim() !== '' && (nano === undefined || nano <= 0n);
  const booking = useActing(async () => {
    await send('POST', `/admin/v1/accounts/${account}/refunds`, {
      headers: { 'idempotency-key': idempotencyKey },
      body: {
        ...(generation === undefined ? { transaction_id: transaction } : { generation_id: generation }),
        ...(nano !== undefined && { amount: plainUsd(nano) }),
        description: reason.trim(),
      },
    });
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void booking.run();
  };
  return (
    <Dialog title={t('Give it back')} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>
          {t(
            'A charge goes back to the balance. A purchase is taken out of it; the payment itself is refunded where it was made.',
          )}
        </p>
        <Field
          label={t('Amount in USD')}
          hint={t('Empty: all that is left of it.')}
          problem={isWrong ? t('A plain amount above zero, such as 12.50') : undefined}
        >
          <input
            type="text"
            inputMode="decimal"
            value={amount}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
        </Field>
        <Field label={t('Reason')} hint={t('It stands in the books and on the customer’s statement.')}>
          <input
            type="text"
            required
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
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
