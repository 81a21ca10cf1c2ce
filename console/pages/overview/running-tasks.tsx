import { useRead } from '../../api/queries.ts';
import type { Task } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';

const RUNNING = ['queued', 'generating', 'generated', 'processing'];

/** Running tasks, with the money held for them. */
export function RunningTasks() {
  const { data } = useRead<readonly Task[]>('/api/v1/tasks', { limit: 20 }, { everyMs: 3_000 });
  const running = (data ?? []).filter(({ status }) => RUNNING.includes(status));
  if (running.length === 0) {
    return null;
  }
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
    </Panel>
  );
}
