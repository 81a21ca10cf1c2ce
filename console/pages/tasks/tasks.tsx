import { useEffect, useState } from 'preact/hooks';
import { useList } from '../../api/lists.ts';
import type { Task } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Problem, Skeleton } from '../../ui/feedback.tsx';
import { Choice } from '../../ui/field.tsx';
import { KeyFilter, ModelFilter } from '../../ui/filters.tsx';
import { TaskCard } from './task-card.tsx';
import { TaskSheet } from './task-sheet.tsx';
import { isLive, RUNNING } from './task-state.ts';

const RUNNING_MS = 2_000;
const QUIET_MS = 15_000;

/** Pictures and videos as a gallery, live while one is in the making. */
export function TasksPage() {
  const [model, setModel] = useQueryState('model', '');
  const [status, setStatus] = useQueryState('status', '');
  const [kind, setKind] = useQueryState('kind', '');
  const [key, setKey] = useQueryState('key', '');
  const query = { kind, model, status, api_key_hash: key };
  const [chosen, choose] = useQueryState('task', '');
  const [isRunning, setRunning] = useState(false);
  const listing = useList<Task>('/api/v1/tasks', query, { everyMs: isRunning ? RUNNING_MS : QUIET_MS });
  const { rows, error, older, isLoadingOlder } = listing;
  useEffect(() => setRunning(rows?.some(isLive) ?? false), [rows?.some(isLive)]);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Tasks')}</h1>
        <div class="page-actions filters">
          <Choice bare label={t('Kind')} value={kind} options={kindOptions()} onChange={setKind} />
          <ModelFilter value={model} onChange={setModel} />
          <KeyFilter value={key} onChange={setKey} />
          <Choice bare label={t('State')} value={status} options={statusOptions()} onChange={setStatus} />
          <ExportCsv path="/api/v1/tasks" query={query} name="tasks" />
          <a class="button button-main" href={to('playground', { kind: 'image' })}>
            {t('New')}
          </a>
        </div>
      </div>
      {rows === undefined ? (
        error ? (
          <Problem error={error} retry={listing.refetch} />
        ) : (
          <Skeleton lines={8} />
        )
      ) : null}
      {rows?.length === 0 ? (
        <Empty text={t('No picture or video was ordered yet, or none that the filters let through.')} />
      ) : (
        <ul class="gallery" aria-label={t('Tasks')}>
          {rows?.map((task) => (
            <li key={task.id}>
              <TaskCard task={task} onOpen={() => choose(task.id)} />
            </li>
          ))}
        </ul>
      )}
      {older ? (
        <div>
          <button type="button" class="button" disabled={isLoadingOlder} onClick={older}>
            {t('Load older')}
          </button>
        </div>
      ) : null}
      {chosen === '' ? null : <TaskSheet id={chosen} onClose={() => choose('')} />}
    </div>
  );
}

function kindOptions(): [string, string][] {
  return [
    ['', t('Images and videos')],
    ['image', t('Images')],
    ['video', t('Videos')],
  ];
}

function statusOptions(): [string, string][] {
  return [
    ['', t('All states')],
    ['queued', t('queued')],
    [RUNNING, t('running')],
    ['succeeded', t('done')],
    ['failed', t('failed')],
    ['canceled', t('cancelled')],
  ];
}
