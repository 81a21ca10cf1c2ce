import { isOwner, mayChangeKeys } from '../../api/members.ts';
import { useRead } from '../../api/queries.ts';
import type { AccountOverview, ApiKey } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { usd, usdOfNumber } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Notice } from '../../ui/feedback.tsx';

/** Says which of the two is too low for a call, the limit of the key or the credits of the account, and what the user can do. */
export function TooDear() {
  const { data: account } = useRead<AccountOverview>('/api/v1/account');
  const { data: key } = useRead<ApiKey>('/api/v1/key');
  if (!account || !key) {
    return null;
  }
  const left = key.limit_remaining === null ? undefined : usdOfNumber(key.limit_remaining);
  return (
    <Notice tone="wait">
      {left !== undefined && left < usd(account.available) ? (
        <p>
          {t('That exceeds what is left of the limit of your key:')} <Amount value={left} />.{' '}
          {mayChangeKeys() ? (
            <a href={to('keys', { key: key.hash })}>{t('Change the limit')}</a>
          ) : (
            t('Ask an owner of the account for a higher limit.')
          )}
        </p>
      ) : (
        <p>
          {t('That exceeds the available credits.')} <AddCredits />
        </p>
      )}
    </Notice>
  );
}

/** Where to get more credits, for who may buy them; whom to ask, for others. */
export function AddCredits({ button = false }: { readonly button?: boolean }) {
  return isOwner() ? (
    <a class={button ? 'button' : undefined} href={to('billing')}>
      {t('Add credits')}
    </a>
  ) : (
    <span>{t('Ask an owner of the account to add credits.')}</span>
  );
}
