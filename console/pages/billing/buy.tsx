import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { useSendOnce } from '../../api/send-once.ts';
import type { AccountOverview, CheckoutSession } from '../../api/types.gen.ts';
import { BASE } from '../../lib/location.ts';
import { exactUsd, parseTypedUsd, plainUsd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Problem } from '../../ui/feedback.tsx';
import { Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';

const AMOUNTS = ['10.00', '25.00', '100.00'];
const CENT = 10_000_000n;
const LEAST = 1_000_000_000n;
const MOST = 10_000_000_000_000n;

/** Lets the user choose an amount, then continues to the page of the payment provider. */
export function Buy({ account }: { readonly account: AccountOverview | undefined }) {
  const [amount, setAmount] = useState('25.00');
  const nano = parseTypedUsd(amount);
  const isRight = nano !== undefined && nano >= LEAST && nano <= MOST && nano % CENT === 0n;
  const sendOnce = useSendOnce();
  const buying = useAction(async () => {
    const body = { amount: plainUsd(nano ?? 0n), currency: 'USD', ...returnUrls() };
    const { data } = await sendOnce<CheckoutSession>('/api/v1/billing/checkout/sessions', body);
    window.location.assign(data.url);
  });
  if (account?.features.payments === null) {
    return (
      <Panel title={t('Buy credits')}>
        {t('Credits cannot be bought here. Ask the operator of this service.')}
      </Panel>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    if (isRight) {
      void buying.run();
    }
  };
  return (
    <Panel title={t('Buy credits')}>
      <form class="form" onSubmit={submit}>
        <div class="form-row">
          <Field
            label={t('Amount in USD')}
            problem={isRight ? undefined : t('1.00 to 10,000.00 in whole cents')}
          >
            <input
              inputMode="decimal"
              value={amount}
              onInput={(event) => setAmount(event.currentTarget.value)}
            />
          </Field>
          <div class="buy-amounts">
            {AMOUNTS.map((choice) => (
              <button
                key={choice}
                type="button"
                class="button"
                aria-pressed={choice === amount}
                onClick={() => setAmount(choice)}
              >
                ${choice.replace('.00', '')}
              </button>
            ))}
          </div>
          <button type="submit" class="button button-main" disabled={!isRight || buying.isPending}>
            {buying.isPending
              ? t('Opening the payment page …')
              : t('Pay {amount}', { amount: isRight ? exactUsd(nano).main : '' })}
          </button>
        </div>
        {buying.error === undefined ? null : <Problem error={buying.error} />}
      </form>
    </Panel>
  );
}

/**
 * Returns to this exact address if the service accepts it, because the browser is signed in here. Otherwise the service uses its
 * own address.
 */
function returnUrls(): { success_url?: string; cancel_url?: string } {
  const { protocol, hostname, origin } = window.location;
  const isTaken = protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const page = `${origin}${BASE}billing`;
  return isTaken
    ? {
        success_url: `${page}?session={CHECKOUT_SESSION_ID}`,
        cancel_url: `${page}?cancelled={CHECKOUT_SESSION_ID}`,
      }
    : {};
}
