import type { LedgerCheck } from '../../api/ledger-check.ts';
import { language, t } from '../../lib/text.ts';
import { formatClock } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';

/** Shows whether the total of a page matches what the ledger charged, to the nano-dollar, and if not, the difference. */
export function LedgerMark({ check }: { readonly check: LedgerCheck | undefined }) {
  return (
    <p class="ledger-mark" role="status">
      <Verdict check={check} />
    </p>
  );
}

function Verdict({ check }: { readonly check: LedgerCheck | undefined }) {
  switch (check?.verdict) {
    case undefined:
      return <span class="quiet">{t('Checking against the ledger …')}</span>;
    case 'same':
      return (
        <span class="status-good" title={t('The ledger’s charges for this period add up to the same total.')}>
          = {t('ledger')} ✓
        </span>
      );
    case 'same_until':
      return (
        <>
          <span class="status-good">
            = {t('ledger until {time} UTC', { time: formatClock(check.untilMs, language()) })} ✓
          </span>{' '}
          <span class="quiet">{t('Calls ended while this was loading.')}</span>
        </>
      );
    case 'too_many':
      return <span class="quiet">{t('Not compared with the ledger: one key has too many charges.')}</span>;
    case 'unanswered':
      return <span class="quiet">{t('Could not check against the ledger.')}</span>;
    case 'different':
      return (
        <strong class="status-bad">
          ≠ {t('ledger')}{' '}
          {check.more > 0n
            ? t('The ledger charged more than shown here, by')
            : t('The ledger charged less than shown here, by')}{' '}
          <Amount value={check.more > 0n ? check.more : -check.more} />
        </strong>
      );
  }
}
