import { useEffect, useState } from 'preact/hooks';
import type { Task } from '../../api/types.gen.ts';
import { usd } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { isLive, pictureOf } from './task-state.ts';

/** A task as a card: its preview, state and cost. */
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
        <span class="card-model">{task.model}</span>
        <Time at={task.created_at} relative />
      </span>
    </button>
  );
}

function Preview({ task }: { readonly task: Task }) {
  const [picture, failed] = useKept(pictureOf(task));
  if (picture) {
    return <img src={picture} alt={t('Preview of {id}', { id: task.id })} loading="lazy" onError={failed} />;
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
  return <span class="quiet small">{whyNoPicture(task)}</span>;
}

/** Explains a missing picture to people; the error code is in the details. */
function whyNoPicture({ status, error }: Task): string {
  switch (status) {
    case 'canceled':
      return t('stopped on request');
    case 'failed':
      return error?.code.replaceAll('_', ' ') ?? '';
    default:
      return t('the files have expired');
  }
}

/** Keeps a link as first seen: every read signs a new link, but the browser has cached the file of the old one. */
function useKept(link: string | undefined): [string | undefined, () => void] {
  const [kept, keep] = useState(link);
  useEffect(() => {
    if (kept === undefined || link === undefined) {
      keep(link);
    }
  }, [link]);
  return [kept, () => keep(link)];
}

/** The cost of a task: held while it runs, charged when it succeeds, otherwise nothing. */
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
