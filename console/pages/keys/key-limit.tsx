import type { ApiKey } from '../../api/types.gen.ts';
import { shareOf, usdOfNumber } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';

const NEAR = 0.8;

/** Translated when it is shown: this file is loaded before the language. */
export function renewalText(reset: string): string {
  switch (reset) {
    case 'daily':
      return t('per day');
    case 'weekly':
      return t('per week');
    default:
      return t('per month');
  }
}

/** Returns the amount that counts toward the limit: for a renewing limit, what was spent since it last renewed. */
export function countedNano({ usage, limit, limit_reset: reset, limit_remaining: left }: ApiKey): bigint {
  return reset === null || limit === null || left === null
    ? usdOfNumber(usage)
    : usdOfNumber(limit) - usdOfNumber(left);
}

/** Returns the share of a limit that has been spent, 0 to 1 or more. Nothing is left of a limit of zero. */
export function spentShare(key: ApiKey): number {
  const limit = usdOfNumber(key.limit ?? 0);
  return limit === 0n ? 1 : shareOf(countedNano(key), limit);
}

export function stateOf({ disabled, expires_at: expires }: ApiKey): string {
  if (disabled) {
    return 'disabled';
  }
  return expires !== null && Date.parse(expires) <= Date.now() ? 'expired' : 'enabled';
}

/** Shows the limit that applies: a key without a limit is bounded by the account. */
export function Limit({ of: key }: { readonly of: ApiKey }) {
  const spent = countedNano(key);
  if (key.limit === null) {
    return (
      <div class="key-limit">
        <span>
          <Amount value={spent} />
        </span>
        <span class="quiet small">{t('no limit: can spend all credits of the account')}</span>
      </div>
    );
  }
  const limit = usdOfNumber(key.limit);
  const share = spentShare(key);
  return (
    <div class="key-limit">
      <span>
        <Amount value={spent} /> {t('of')} <Amount value={limit} />
        {key.limit_reset === null ? null : <span class="quiet small"> {renewalText(key.limit_reset)}</span>}
        {share >= NEAR ? <span class="status-wait"> ▲ {Math.floor(share * 100)} %</span> : null}
      </span>
      <progress
        class={share >= NEAR ? 'bar bar-near' : 'bar'}
        max={1}
        value={share}
        aria-label={t('Share of the limit of {name} that has been spent', { name: key.name })}
      />
    </div>
  );
}
