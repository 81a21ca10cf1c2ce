import { useEffect, useState } from 'preact/hooks';
import type { Query } from '../../api/client.ts';
import { type Listing, useList } from '../../api/lists.ts';
import { mayCall } from '../../api/members.ts';
import type { Task } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { formatDuration, parseRange } from '../../lib/time.ts';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Problem, Skeleton } from '../../ui/feedback.tsx';
import { Choice } from '../../ui/field.tsx';
import { FilterBar, KeyFilter, ModelFilter, RangeFilter, useRange } from '../../ui/filters.tsx';
import { List, Waiting } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { TaskCard, TaskMoney } from './task-card.tsx';
import { TaskSheet } from './task-sheet.tsx';
import { isLive, RUNNING } from './task-state.ts';

const RUNNING_MS = 2_000;
const QUIET_MS = 15_000;

/** Images and videos, updated live while any of them is running. */
export function TasksPage() {
  const [model, setModel] = useQueryState('model', '');
  const [status, setStatus] = useQueryState('status', '');
  const [kind, setKind] = useQueryState('kind', '');
  const [key, setKey] = useQueryState('key', '');
  const [range, setRange] = useRange('');
  const [view, setView] = useQueryState('view', 'grid');
  const [chosen, choose] = useQueryState('task', '');
  const time = range === '' ? undefined : parseRange(range, Date.now());
  const query = {
    ...{ kind, model, status, api_key_hash: key },
    ...{ created_after: time?.start, created_before: time?.end },
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Tasks')}</h1>
        <FilterBar
          values={[range, kind, model, key, status]}
          actions={
            <>
              <ExportCsv path="/api/v1/tasks" query={query} name="tasks" />
              {mayCall() ? (
                <a class="button button-main" href={to('playground', { kind: 'image' })}>
                  {t('New')}
                </a>
              ) : null}
            </>
          }
        >
          <RangeFilter all value={range} onChange={setRange} />
          <Choice bare label={t('Kind')} value={kind} options={kindOptions()} onChange={setKind} />
          <ModelFilter value={model} onChange={setModel} />
          <KeyFilter value={key} onChange={setKey} />
          <Choice bare label={t('State')} value={status} options={statusOptions()} onChange={setStatus} />
          <Choice bare label={t('View')} value={view} options={viewOptions()} onChange={setView} />
        </FilterBar>
      </div>
      <Tasks query={query} isTable={view === 'table'} choose={choose} />
      {chosen === '' ? null : <TaskSheet id={chosen} onClose={() => choose('')} />}
    </div>
  );
}

interface TasksProps {
  readonly query: Query;
  readonly isTable: boolean;
  readonly choose: (id: string) => void;
}

function Tasks({ query, isTable, choose }: TasksProps) {
  const [isRunning, setRunning] = useState(false);
  const listing = useList<Task>('/api/v1/tasks', query, { everyMs: isRunning ? RUNNING_MS : QUIET_MS });
  const runs = listing.rows?.some(isLive) ?? false;
  useEffect(() => setRunning(runs), [runs]);
  const empty = t('No images or videos, or none that match the filters.');
  return isTable ? (
    <Panel flush>
      <List
        label={t('Tasks')}
        listing={listing}
        rowKey={({ id }) => id}
        empty={empty}
        columns={columns(choose)}
      />
    </Panel>
  ) : (
    <Gallery listing={listing} empty={empty} choose={choose} />
  );
}

function columns(choose: (id: string) => void): Column<Task>[] {
  return [
    {
      name: t('Ordered'),
      cell: ({ id, created_at: at }) => (
        <button type="button" class="row-button" onClick={() => choose(id)}>
          <Time at={at} />
        </button>
      ),
    },
    { name: t('State'), cell: ({ status }) => <Status of={status} /> },
    { name: t('Model'), cell: ({ model }) => model, clip: true },
    {
      name: t('Size'),
      cell: ({ parameters: { width, height } }) => (width === null ? '–' : `${width} × ${height}`),
      number: true,
    },
    {
      name: t('Run time'),
      cell: ({ started_at: start, completed_at: end }) =>
        start === null || end === null ? '–' : formatDuration(Date.parse(end) - Date.parse(start)),
      number: true,
    },
    { name: t('Charged'), cell: (task) => <TaskMoney task={task} />, number: true },
  ];
}

interface GalleryProps {
  readonly listing: Listing<Task>;
  readonly empty: string;
  readonly choose: (id: string) => void;
}

function Gallery({ listing, empty, choose }: GalleryProps) {
  const { rows, error, older, isLoadingOlder, refetch } = listing;
  if (rows === undefined) {
    return error ? <Problem error={error} retry={refetch} /> : <Skeleton lines={8} />;
  }
  if (rows.length === 0) {
    return <Empty text={empty} />;
  }
  return (
    <>
      <Waiting listing={listing} />
      <ul class="gallery" aria-label={t('Tasks')}>
        {rows.map((task) => (
          <li key={task.id}>
            <TaskCard task={task} onOpen={() => choose(task.id)} />
          </li>
        ))}
      </ul>
      {older ? (
        <div>
          <button type="button" class="button" disabled={isLoadingOlder} onClick={older}>
            {t('Load older')}
          </button>
        </div>
      ) : null}
    </>
  );
}

function viewOptions(): [string, string][] {
  return [
    ['grid', t('as images')],
    ['table', t('as a table')],
  ];
}

function kindOptions(): [string, string][] {
  return [
    ['', t('All kinds')],
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
