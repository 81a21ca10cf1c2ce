import { apiPath } from '../../api/client.ts';
import type { Task } from '../../api/types.gen.ts';
import { usd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { contentQuery, isLive } from './task-state.ts';

/** A task as a card: what it looks like, how it stands, what it cost. */
export function TaskCard({ task, onOpen }: { readonly task: Task; readonly onOpen: () => void }) {
  return (
    <button type="button" class="card" onClick={onOpen}>
      <span class="card-picture">
        <Preview task={task} />
      </span>
      <span class="card-line">
        <Status of={task.status} />
        <TaskMoney task={task} />
      </span>
      <span class="card-line quiet small">
        <span class="clip">{task.model}</span>
        <Time at={task.created_at} relative />
      </span>
    </button>
  );
}

function Preview({ task }: { readonly task: Task }) {
  const picture = contentQuery(task, 'thumbnail') ?? contentQuery(task, 'poster');
  if (picture) {
    return (
      <img
        src={apiPath(`/api/v1/tasks/${task.id}/content`, picture)}
        alt={t('Preview of {id}', { id: task.id })}
        loading="lazy"
      />
    );
  }
  if (isLive(task)) {
    return (
      <progress
        class="bar"
        max={100}
        value={task.progress_percent}
        aria-label={t('Progress of {id}', { id: task.id })}
      />
    );
  }
  return <span class="quiet small">{task.error?.code ?? t('the files have expired')}</span>;
}

/** What it costs: held while it runs, charged when it is done, nothing otherwise. */
export function TaskMoney({ task }: { readonly task: Task }) {
  if (isLive(task)) {
    return (
      <span class="quiet">
        <Amount value={task.estimated_amount} short /> {t('held')}
      </span>
    );
  }
  return usd(task.charged_amount) === 0n ? (
    <span class="quiet">{t('free')}</span>
  ) : (
    <Amount value={task.charged_amount} short />
  );
}
