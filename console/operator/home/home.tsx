import { useRead } from '../../api/queries.ts';
import type { DeferredRevenue, LedgerCheck, Margin } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Figure } from '../../ui/panel.tsx';
import { Time } from '../../ui/time.tsx';
import { knownOf, percentOf, sumOf } from '../margin.ts';
import { PoolsPanel } from '../pools.tsx';
import { ProvidersPanel } from '../providers.tsx';
import { Alarms } from './alarms.tsx';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Minimum interval between reads of the daily money figures, which read every call of the day. */
const MONEY_MS = 300_000;
const LIVE_MS = 15_000;

/** Today's money, debts to customers, the state of the books, pools and alarms. */
export function HomePage() {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Home')}</h1>
      <Figures />
      <Alarms />
      <PoolsPanel everyMs={LIVE_MS} action={<a href={to('operator/fleet')}>{t('Fleet')}</a>} />
      <ProvidersPanel everyMs={MINUTE_MS} />
    </div>
  );
}

function Figures() {
  // rounded to MONEY_MS, so that re-rendering does not repeat the same request
  const now = Math.floor(Date.now() / MONEY_MS) * MONEY_MS + MONEY_MS;
  const period = { start_time: new Date(now - DAY_MS).toISOString(), end_time: new Date(now).toISOString() };
  const margin = useRead<readonly Margin[]>('/admin/v1/reports/margin', period);
  const owed = useRead<DeferredRevenue>('/admin/v1/reports/deferred-revenue', { at: period.end_time });
  const checks = useRead<readonly LedgerCheck[]>('/admin/v1/ledger/checks', {}, { everyMs: LIVE_MS });
  const sums = margin.data && sumOf(margin.data);
  const known = sums && knownOf(sums);
  return (
    <dl class="figures">
      <Figure
        label={t('Charged, 24 hours')}
        note={
          sums &&
          t('Calls: {count}, failed: {failed}', {
            count: formatCount(sums.calls),
            failed: formatCount(sums.failed),
          })
        }
      >
        <Amount value={sums?.charged} short />
      </Figure>
      <Figure
        label={t('Provider cost')}
        note={
          sums &&
          sums.charged > 0n &&
          t('known for {share} of charges', {
            share: percentOf(sums.charged - sums.unknown, sums.charged),
          })
        }
      >
        <Amount value={known?.cost} short />
      </Figure>
      <Figure
        label={t('Margin')}
        note={
          known &&
          (known.charged === 0n
            ? t('cost not known')
            : t('{share} of charges whose cost is known', {
                share: percentOf(known.margin ?? 0n, known.charged),
              }))
        }
      >
        <Amount value={known?.margin} short />
      </Figure>
      <Figure
        label={t('Owed to customers')}
        note={
          owed.data && (
            <a href={to('operator/accounts')}>{t('Accounts: {count}', { count: owed.data.accounts })}</a>
          )
        }
      >
        <Amount value={owed.data?.credits} short />
      </Figure>
      <Figure label={t('Ledger check')} note={<ProofAge checks={checks.data} />}>
        <Proof checks={checks.data} />
      </Figure>
    </dl>
  );
}

function Proof({ checks }: { readonly checks: readonly LedgerCheck[] | undefined }) {
  if (!checks || checks.length === 0) {
    return <span class="quiet">–</span>;
  }
  const violations = checks.reduce((sum, check) => sum + check.violations, 0);
  return violations === 0 ? (
    <span class="status-good">{t('They add up')}</span>
  ) : (
    <span class="status-bad">{t('Violations: {count}', { count: violations })}</span>
  );
}

function ProofAge({ checks }: { readonly checks: readonly LedgerCheck[] | undefined }) {
  const [full] = (checks ?? [])
    .filter(({ kind }) => kind !== 'incremental')
    .sort((one, other) => one.age_seconds - other.age_seconds);
  const last = full ?? checks?.[0];
  return last ? (
    <>
      {full ? t('all entries') : t('new entries')}, <Time at={last.at} relative />
    </>
  ) : (
    <span>{checks ? t('not checked yet') : '–'}</span>
  );
}
