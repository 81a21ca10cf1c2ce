import { useRead } from '../../api/queries.ts';
import type { AccountOverview, Task } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';

/** The states of a task that has not ended; those that are being worked on are listed first. */
const WORKING = 'generating,generated,processing';
const WAITING = 'queued';
const SHOWN_MAX = 20;

/** Running tasks, with the money held for them. Those being worked on come first: many may wait behind them. */
export function RunningTasks() {
  const account = useRead<AccountOverview>('/api/v1/account');
  const working = useTasks(WORKING);
  const waiting = useTasks(WAITING);
  const known = new Map([...working, ...waiting].map((task) => [task.id, task]));
  const running = [...known.values()].slice(0, SHOWN_MAX);
  if (running.length === 0) {
    return null;
  }
  const more = Math.max(known.size, account.data?.running_tasks ?? 0) - running.length;
  return (
    <Panel title={t('Running now')} actions={<a href={to('tasks')}>{t('All tasks')}</a>}>
      <ul class="running">
        {running.map((task) => (
          <li key={task.id}>
            <a href={to('tasks', { task: task.id })}>{task.model}</a>
            <progress
              class="bar"
              max={100}
              value={task.progress_percent}
              aria-label={t('Progress of {id}', { id: task.id })}
            />
            <Status of={task.status} />
            <span>
              <Amount value={task.estimated_amount} short /> {t('held')}
            </span>
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p class="small quiet running-more">
          <a href={to('tasks')}>{t('and {count} more', { count: more })}</a>
        </p>
      ) : null}
    </Panel>
  );
}

function useTasks(status: string): readonly Task[] {
  const query = { status, limit: SHOWN_MAX };
  return useRead<readonly Task[]>('/api/v1/tasks', query, { everyMs: 3_000 }).data ?? [];
}
