import { isOwner, mayCall } from '../../api/members.ts';
import { useRead, useReadAll } from '../../api/queries.ts';
import { chartSeries, spendingOf } from '../../api/spending.ts';
import type { AccountOverview, ApiKey, CostRow } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { shareOf, shortUsd, sumUsd, usd, usdOfNumber } from '../../lib/money.ts';
import { language, t } from '../../lib/text.ts';
import {
  bucketNames,
  bucketsOf,
  inCostBuckets,
  isOpenRange,
  monthStart,
  parseRange,
} from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Chart } from '../../ui/chart.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { RangeFilter, useRange } from '../../ui/filters.tsx';
import { Figure, Panel } from '../../ui/panel.tsx';
import { renewalText } from '../keys/key-limit.tsx';
import { Attention } from './attention.tsx';
import { LatestGenerations } from './latest-generations.tsx';
import { RunningTasks } from './running-tasks.tsx';

const DAY_MS = 86_400_000;
const LIVE_MS = 10_000;

/** The balance, recent spending, and running tasks. */
export function OverviewPage() {
  const [range, setRange] = useRange('30d');
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Overview')}</h1>
        <div class="page-actions">
          <RangeFilter value={range} onChange={setRange} />
        </div>
      </div>
      <Figures />
      <div class="split">
        <SpendByModel range={range} />
        <Attention />
      </div>
      <RunningTasks />
      <LatestGenerations />
    </div>
  );
}

function Figures() {
  const now = Date.now();
  const account = useRead<AccountOverview>('/api/v1/account', {}, { everyMs: LIVE_MS });
  const hours = parseRange('24h', now);
  const before = new Date(Date.parse(hours.start) - DAY_MS).toISOString();
  const recent = useReadAll<CostRow>(
    '/api/v1/costs',
    { start_time: before, granularity: 'hour' },
    { everyMs: LIVE_MS },
  );
  const lastMonth = monthStart(Date.parse(monthStart(now)) - DAY_MS);
  const months = useReadAll<CostRow>(
    '/api/v1/costs',
    { start_time: lastMonth, granularity: 'day' },
    { everyMs: LIVE_MS },
  );
  const today = spentSince(recent.data, hours.start);
  const yesterday = recent.data && sumOf(recent.data.filter((row) => row.period_start < hours.start));
  return (
    <dl class="figures">
      <Figure
        label={t('Available')}
        note={
          account.data && (
            <>
              <Amount value={account.data.remaining_credits} short /> −{' '}
              <Amount value={account.data.held} short /> {t('held')}
            </>
          )
        }
      >
        <Amount value={account.data?.available} short />
      </Figure>
      <Figure
        label={isOwner() ? t('Spent, 24 hours') : t('Spent by your key, 24 hours')}
        note={today === undefined ? undefined : changeText(today, yesterday ?? 0n)}
      >
        <Amount value={today} short />
      </Figure>
      <Figure
        label={isOwner() ? t('Spent, this month (UTC)') : t('Spent by your key, this month (UTC)')}
        note={<LastMonth rows={months.data} now={now} />}
      >
        <Amount value={spentSince(months.data, monthStart(now))} short />
      </Figure>
      {isOwner() ? <Runway account={account.data} rows={months.data} now={now} /> : <KeyLimit />}
    </dl>
  );
}

interface RunwayProps {
  readonly account: AccountOverview | undefined;
  readonly rows: readonly CostRow[] | undefined;
  readonly now: number;
}

/** How long the credits last; only for owners, because others see what their own key spends, not the account. */
function Runway({ account, rows, now }: RunwayProps) {
  return (
    <Figure label={t('At this rate')} note={<a href={to('billing')}>{t('Add credits')}</a>}>
      {account && rows ? runway(account, rows, now) : '–'}
    </Figure>
  );
}

/** What is left of the limit of one's own key, which may be much less than the credits of the account. */
function KeyLimit() {
  const { data: key } = useRead<ApiKey>('/api/v1/key', {}, { everyMs: LIVE_MS });
  const { limit = null, limit_remaining: left = null, limit_reset: reset = null } = key ?? {};
  const isLimited = limit !== null && left !== null;
  const note = isLimited ? (
    <>
      {t('of')} <Amount value={usdOfNumber(limit)} short /> {reset === null ? '' : renewalText(reset)}
    </>
  ) : undefined;
  return (
    <Figure label={t('Left of the limit of your key')} note={note}>
      {isLimited ? <Amount value={usdOfNumber(left)} short /> : key ? t('no limit') : '–'}
    </Figure>
  );
}

function LastMonth({ rows, now }: { readonly rows: readonly CostRow[] | undefined; readonly now: number }) {
  if (!rows) {
    return <>–</>;
  }
  const spent = sumOf(rows.filter((row) => row.period_start < monthStart(now)));
  return (
    <>
      <Amount value={spent} short /> {t('last month')}
    </>
  );
}

function sumOf(rows: readonly CostRow[]): bigint {
  return sumUsd(rows.map((row) => usd(row.amount.value)));
}

function spentSince(rows: readonly CostRow[] | undefined, start: string): bigint | undefined {
  return rows && sumOf(rows.filter((row) => row.period_start >= start));
}

/** Formats a percentage only if both periods have data. */
function changeText(now: bigint, before: bigint): string {
  if (before === 0n) {
    return t('nothing the day before');
  }
  const percent = Math.round((shareOf(now, before) - 1) * 100);
  return t('{change} % vs the day before', { change: percent > 0 ? `+${percent}` : percent });
}

/** Estimates how long the credits will last at the average of the last seven days, or of the days since the account was opened. */
function runway(account: AccountOverview, rows: readonly CostRow[], now: number): string {
  const span = Math.min(7 * DAY_MS, Math.max(DAY_MS, now - Date.parse(account.created_at)));
  const spent = sumOf(rows.filter((row) => Date.parse(row.period_start) > now - 7 * DAY_MS));
  if (spent <= 0n) {
    return '–';
  }
  const days = (usd(account.available) * BigInt(span)) / (spent * BigInt(DAY_MS));
  if (days > 999n) {
    return t('over {days} days', { days: 999 });
  }
  if (days < 1n) {
    return t('less than a day left');
  }
  return days === 1n ? t('1 day left') : t('{days} days left', { days: String(days) });
}

function SpendByModel({ range }: { readonly range: string }) {
  const now = Date.now();
  const time = inCostBuckets(parseRange(range, now));
  const { start, end, granularity } = time;
  const query = { start_time: start, end_time: end, granularity, group_by: 'model' };
  const reading = useReadAll<CostRow>('/api/v1/costs', query, { everyMs: LIVE_MS });
  return (
    <Panel title={t('Spend by model')} actions={<a href={to('usage', { range })}>{t('Usage & Costs')}</a>}>
      <Loaded reading={reading} lines={8}>
        {(rows) => {
          const buckets = bucketsOf(time, now);
          const { groups, total } = spendingOf(rows, buckets, (row) => row.model ?? '');
          if (groups.length === 0) {
            return (
              <Empty text={t('Nothing was spent in this period.')}>
                {mayCall() ? (
                  <a class="button button-main" href={to('playground')}>
                    {t('Make your first call')}
                  </a>
                ) : null}
              </Empty>
            );
          }
          return (
            <Chart
              label={t('Spend by model, {total} in total', { total: shortUsd(total) })}
              buckets={bucketNames(time, buckets, language())}
              series={chartSeries(groups, (count) => t('Other ({count})', { count }))}
              format={shortUsd}
              isOpen={isOpenRange(time, now)}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}
