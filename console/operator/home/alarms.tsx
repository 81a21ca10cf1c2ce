import { useRead } from '../../api/queries.ts';
import type { Alarm } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { formatDuration } from '../../lib/time.ts';
import { Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

const LIVE_MS = 5_000;

/** What needs attention now, by the thresholds of the alerting rules. */
export function Alarms() {
  const reading = useRead<readonly Alarm[]>('/admin/v1/alarms', {}, { everyMs: LIVE_MS });
  return (
    <Panel title={t('Alarms')}>
      <Loaded reading={reading} lines={1}>
        {(alarms) =>
          alarms.length === 0 ? (
            <p class="status-good">● {t('None.')}</p>
          ) : (
            <ul class="attention" aria-label={t('Alarms')}>
              {alarms.map((alarm) => (
                <li key={`${alarm.code} ${alarm.object ?? ''}`}>
                  <span class="status-bad" aria-hidden="true">
                    ▲
                  </span>{' '}
                  <a href={pageOf(alarm.code)}>{textOf(alarm)}</a>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function pageOf(code: Alarm['code']): string {
  switch (code) {
    case 'pool_without_workers':
    case 'worker_silent':
      return to('operator/fleet');
    case 'tasks_wait':
      return to('operator/tasks', { state: 'queued' });
    case 'webhooks_late':
      return to('operator/deliveries', { state: 'pending' });
    default:
      return to('operator/money');
  }
}

function textOf({ code, object, count, seconds, amount }: Alarm): string {
  const values = {
    object: object ?? '',
    count: count ?? 0,
    time: formatDuration((seconds ?? 0) * 1_000),
    amount: amount ?? '',
  };
  switch (code) {
    case 'books_violated':
      return t('The books do not add up: violations in the last {object} check: {count}', values);
    case 'books_unchecked':
      return t('The last full check of the books was {time} ago', values);
    case 'pool_without_workers':
      return t('No workers for {object}: {count} waiting, the oldest for {time}', values);
    case 'tasks_wait':
      return t('Tasks waiting in {object}: {count}, the oldest for {time}', values);
    case 'worker_silent':
      return t('Worker {object} has been silent for {time}; tasks with it: {count}', values);
    case 'old_hold':
      return t('Open holds of calls: {count} ({amount} USD), the oldest {time} old', values);
    case 'webhooks_late':
      return t('Pending webhooks: {count}, the first overdue by {time}', values);
    case 'payments_not_booked':
      return t('Payment events not booked: {count}, the oldest for {time}', values);
    case 'reversals_not_booked':
      return t('{amount} USD of payment reversals could not be booked', values);
    default:
      return code;
  }
}
