import { useLocation } from 'preact-iso/router';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Notice } from '../../ui/feedback.tsx';
import { TaskCard } from '../tasks/task-card.tsx';
import { useTask } from '../tasks/use-task.ts';

/** An order: its progress, then its picture and what it cost. */
export function Ordered({ id }: { readonly id: string }) {
  const { route } = useLocation();
  const { data } = useTask(id);
  const href = to('tasks', { task: id });
  return (
    <div class="ordered">
      <Notice tone="good">
        <a href={href}>{t('Ordered. Show the task')}</a>
      </Notice>
      {data === undefined ? null : <TaskCard task={data} onOpen={() => route(href)} />}
    </div>
  );
}
