import { useState } from 'preact/hooks';
import type { Account } from '../../api/types.gen.ts';
import { parseTypedUsd, plainUsd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { BookingForm } from '../booking-form.tsx';

interface AdjustDialogProps {
  readonly account: Account;
  readonly onClose: () => void;
}

/** Books a signed correction. */
export function AdjustDialog({ account, onClose }: AdjustDialogProps) {
  const [amount, setAmount] = useState('');
  const [kind, setKind] = useState('goodwill');
  const nano = parseTypedUsd(amount);
  const isWrong = amount.trim() !== '' && !nano;
  return (
    <Dialog title={t('Credit or debit “{name}”', { name: account.name })} onClose={onClose}>
      <BookingForm
        path={`/admin/v1/accounts/${account.id}/adjustments`}
        booking={{ amount: plainUsd(nano ?? 0n), reason: kind }}
        isWrong={isWrong}
        onClose={onClose}
      >
        <p>
          {t('Balance now')}: <Amount value={account.remaining_credits} />
        </p>
        <Field
          label={t('Amount in USD')}
          hint={t('A positive amount adds credits; a negative one, such as -2.50, removes them.')}
          problem={isWrong ? t('An amount other than zero, such as 12.50 or -2.50') : undefined}
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
          label={t('Booked as')}
          value={kind}
          options={[
            ['goodwill', t('Goodwill')],
            ['grant', t('Grant')],
            ['correction', t('Correction')],
          ]}
          onChange={setKind}
        />
      </BookingForm>
    </Dialog>
  );
}
