import { useState } from 'preact/hooks';
import { parseTypedUsd, plainUsd } from '../lib/money.ts';
import { t } from '../lib/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { BookingForm } from './booking-form.tsx';

export interface RefundDialogProps {
  readonly account: string;
  /** The generation whose charge is refunded. */
  readonly generation?: string;
  /** The purchase or charge to refund. */
  readonly transaction?: string;
  /** Whether that is a purchase: how much of it was returned must be typed. */
  readonly isPurchase?: boolean;
  readonly onClose: () => void;
}

/** Refunds a charge, or takes back a purchase. */
export function RefundDialog({
  account,
  generation,
  transaction,
  isPurchase = false,
  onClose,
}: RefundDialogProps) {
  const [amount, setAmount] = useState('');
  const nano = amount.trim() === '' ? undefined : parseTypedUsd(amount);
  const isWrong = amount.trim() !== '' && (nano === undefined || nano <= 0n);
  return (
    <Dialog title={t('Refund')} onClose={onClose}>
      <BookingForm
        path={`/admin/v1/accounts/${account}/refunds`}
        booking={{
          ...(generation === undefined ? { transaction_id: transaction } : { generation_id: generation }),
          ...(nano !== undefined && { amount: plainUsd(nano) }),
        }}
        isWrong={isWrong}
        onClose={onClose}
      >
        <p>
          {t(
            'Refunding a charge returns it to the balance. Refunding a purchase takes its credits out of the balance; refund the payment itself at the payment provider.',
          )}
        </p>
        <Field
          label={t('Amount in USD')}
          hint={isPurchase ? t('What was returned to the customer.') : t('Empty: the full remaining amount.')}
          problem={isWrong ? t('An amount above zero, such as 12.50') : undefined}
        >
          <input
            type="text"
            inputMode="decimal"
            required={isPurchase}
            value={amount}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
        </Field>
      </BookingForm>
    </Dialog>
  );
}
