import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../api/action.ts';
import { useSendOnce } from '../api/send-once.ts';
import { t } from '../lib/text.ts';
import { Problem } from '../ui/feedback.tsx';
import { Field } from '../ui/field.tsx';

export interface BookingFormProps {
  /** Path of the operation that books. */
  readonly path: string;
  /** Fields of the booking, except the reason. */
  readonly booking: Readonly<Record<string, unknown>>;
  readonly isWrong: boolean;
  readonly onClose: () => void;
  /** Form fields besides the reason. */
  readonly children: ComponentChildren;
}

/** Books money to or from an account, with a reason. Booked only once, however often the button is pressed. */
export function BookingForm({ path, booking, isWrong, onClose, children }: BookingFormProps) {
  const sendOnce = useSendOnce();
  const [reason, setReason] = useState('');
  const { run, error, isPending } = useAction(async () => {
    await sendOnce(path, { ...booking, description: reason.trim() });
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void run();
  };
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <Field label={t('Reason')} hint={t('Recorded in the ledger and shown on the customer’s statement.')}>
        <input
          type="text"
          required
          maxLength={500}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </Field>
      {error === undefined ? null : <Problem error={error} texts={bookingTexts()} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="submit" class="button button-main" disabled={isWrong || isPending}>
          {t('Book it')}
        </button>
      </div>
    </form>
  );
}

/** Money that the account lacks is told to the operator, not to a customer who paid nothing for a call. */
function bookingTexts(): Readonly<Record<string, string>> {
  return {
    insufficient_credits: t('The account has fewer credits available than this removes. Nothing was booked.'),
  };
}
