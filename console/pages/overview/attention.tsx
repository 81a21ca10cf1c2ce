import { useRead } from '../../api/queries.ts';
import { currentSession } from '../../api/session.ts';
import type { AccountOverview, ApiKey, Task } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { usd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Problem, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { spentShare } from '../keys/key-limit.tsx';

const NEAR = 0.8;
const DAY_MS = 86_400_000;
const SOON_MS = 7 * DAY_MS;
const FAILED_MAX = 20;

interface Item {
  readonly text: string;
  readonly href: string;
}

/** Lists only what needs attention. Says that nothing does only if everything has been read. */
export function Attention() {
  const isOwner = currentSession().key.role === 'owner';
  const account = useRead<AccountOverview>('/api/v1/account');
  const keys = useRead<readonly ApiKey[]>('/api/v1/keys', { limit: 1_000 }, { enabled: isOwner });
  const failed = useRead<readonly Task[]>('/api/v1/tasks', { status: 'failed', limit: FAILED_MAX });
  const unread = [account, failed, ...(isOwner ? [keys] : [])].filter(({ data }) => data === undefined);
  const problem = unread.find(({ error }) => error !== undefined);
  const items = [
    ...ofAccount(account.data),
    ...(keys.data ?? []).flatMap(ofKey),
    ...ofTasks(failed.data ?? []),
  ];
  return (
    <Panel title={t('Needs attention')}>
      {items.length === 0 ? null : (
        <ul class="attention">
          {items.map(({ text, href }) => (
            <li key={text}>
              <span class="status-wait" aria-hidden="true">
                ▲
              </span>{' '}
              <a href={href}>{text}</a>
            </li>
          ))}
        </ul>
      )}
      {problem ? <Problem error={problem.error} retry={problem.refetch} /> : null}
      {unread.length > 0 && !problem ? <Skeleton lines={2} /> : null}
      {unread.length === 0 && items.length === 0 ? <p class="quiet">{nothing(isOwner)}</p> : null}
    </Panel>
  );
}

function nothing(isOwner: boolean): string {
  return isOwner
    ? t('Nothing. All keys are below their limits, and no task failed in the last day.')
    : t('Nothing. No task failed in the last day.');
}

function ofAccount(account: AccountOverview | undefined): Item[] {
  if (!account) {
    return [];
  }
  const items: Item[] = [];
  if (usd(account.available) <= 0n) {
    items.push({ text: t('No credits are available: paid calls are rejected'), href: to('billing') });
  }
  if (account.debt !== '0.00') {
    items.push({
      text: t('A payment was reversed: {amount} USD is owed', { amount: account.debt }),
      href: to('billing'),
    });
  }
  return items;
}

function ofKey(key: ApiKey): Item[] {
  const items: Item[] = [];
  const href = to('keys', { key: key.hash });
  if (!key.disabled && key.limit !== null && key.limit > 0) {
    const share = spentShare(key);
    if (share >= NEAR) {
      items.push({
        text: t('Key “{name}” has used {percent} % of its limit', {
          name: key.name,
          percent: Math.floor(share * 100),
        }),
        href,
      });
    }
  }
  const expiresInMs =
    key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at) - Date.now();
  if (!key.disabled && expiresInMs > 0 && expiresInMs < SOON_MS) {
    const days = Math.ceil(expiresInMs / DAY_MS);
    const text =
      days === 1
        ? t('Key “{name}” expires within a day', { name: key.name })
        : t('Key “{name}” expires within {days} days', { name: key.name, days });
    items.push({ text, href });
  }
  return items;
}

function ofTasks(tasks: readonly Task[]): Item[] {
  const recent = tasks.filter(({ completed_at: at }) => at !== null && Date.now() - Date.parse(at) < DAY_MS);
  const counts = new Map<string, number>();
  for (const { error } of recent) {
    const code = error?.code ?? 'failed';
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const href = to('tasks', { status: 'failed' });
  // older ones of the same day were not read
  const isCut = recent.length === FAILED_MAX;
  return [...counts].map(([code, count]) => ({ text: failuresText(code, count, isCut), href }));
}

function failuresText(code: string, count: number, isCut: boolean): string {
  if (isCut) {
    return t('{count} or more tasks failed: {code}', { count, code });
  }
  return count === 1
    ? t('1 task failed: {code}', { code })
    : t('{count} tasks failed: {code}', { count, code });
}
