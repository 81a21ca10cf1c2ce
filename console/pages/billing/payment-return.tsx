import { useEffect, useState } from 'preact/hooks';
import { refresh, useRead } from '../../api/queries.ts';
import type { CheckoutSession } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Notice, Problem } from '../../ui/feedback.tsx';

const OFTEN_MS = 2_000;
const OFTEN_FOR_MS = 60_000;
const SELDOM_MS = 10_000;
const QUIET_AFTER_MS = 300_000;

/** After leaving the payment page: says that nothing was paid only if the service says so, as another tab may have paid. */
export function PaymentCancelled({ session }: { readonly session: string }) {
  const { data, error } = useRead<CheckoutSession>(`/api/v1/billing/checkout/sessions/${session}`);
  if (data?.payment_status === 'paid') {
    return <PaymentReturn session={session} />;
  }
  if (error) {
    return <Problem error={error} />;
  }
  return data ? <Notice tone="info">{t('The payment was cancelled. You paid nothing.')}</Notice> : null;
}

/** After payment: polls until the money has arrived. Arriving at this address does not prove a payment. */
export function PaymentReturn({ session }: { readonly session: string }) {
  const [openedAt] = useState(Date.now);
  const waited = Date.now() - openedAt;
  const [isOver, setOver] = useState(false);
  const everyMs =
    isOver || waited > QUIET_AFTER_MS ? undefined : waited > OFTEN_FOR_MS ? SELDOM_MS : OFTEN_MS;
  const { data, error } = useRead<CheckoutSession>(
    `/api/v1/billing/checkout/sessions/${session}`,
    {},
    { everyMs },
  );
  const status = data?.payment_status === 'paid' ? 'paid' : data?.status;
  useEffect(() => {
    if (status === 'paid' || status === 'expired') {
      setOver(true);
      refresh(
        '/api/v1/account',
        '/api/v1/billing/balance-transactions',
        '/api/v1/billing/invoices',
        '/api/v1/credits',
      );
    }
  }, [status]);
  if (error) {
    return <Problem error={error} />;
  }
  if (data && status === 'paid') {
    return (
      <Notice tone="good">
        <p>
          ● {t('Paid.')} <Amount value={data.amount_total} /> {t('have been added to the balance.')}
        </p>
      </Notice>
    );
  }
  if (status === 'expired') {
    return <Notice tone="wait">{t('This payment has expired. You paid nothing.')}</Notice>;
  }
  return (
    <Notice tone="info">
      {waited > QUIET_AFTER_MS
        ? t(
            'The payment provider has not confirmed the payment yet. You can leave this page: the credits will be added automatically.',
          )
        : t('Waiting for the payment provider to confirm …')}
    </Notice>
  );
}
