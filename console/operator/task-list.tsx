import { useList } from '../api/lists.ts';
import type { OperatorTask } from '../api/types.gen.ts';
import { useQueryState } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import { formatDuration } from '../lib/time.ts';
import { Amount } from '../ui/amount.tsx';
import { List } from '../ui/list.tsx';
import { Status } from '../ui/status.tsx';
import { Time } from '../ui/time.tsx';
import { accountColumn } from './account-column.tsx';
import { TaskSheet } from './task-sheet.tsx';

const LIVE_MS = 5_000;

/** Tasks of all accounts, or those that match the query. */
export function TaskList({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const [chosen, choose] = useQueryState('task', '');
  const listing = useList<OperatorTask>('/admin/v1/tasks', query, { everyMs: LIVE_MS });
  return (
    <>
      <List
        label={t('Tasks')}
        listing={listing}
        rowKey={({ id }) => id}
        empty={t('No tasks, or none that match the filters.')}
        columns={[
          {
            name: t('Ordered'),
            cell: ({ id, created_at: at }) => (
              <button type="button" class="row-button" onClick={() => choose(id)}>
                <Time at={at} relative />
              </button>
            ),
          },
          { name: t('State'), cell: ({ state }) => <Status of={state} /> },
          { name: t('Model'), cell: ({ model }) => model, clip: true },
          {
            name: t('Error'),
            cell: ({ error, state }) => (state === 'canceled' ? '–' : (error?.code ?? '–')),
          },
          {
            name: t('Waited'),
            cell: ({ queue_wait_ms: ms }) => (ms === null ? '–' : formatDuration(ms)),
            number: true,
            card: 'hidden',
          },
          {
            name: t('Run time'),
            cell: ({ run_ms: ms }) => (ms === null ? '–' : formatDuration(ms)),
            number: true,
            card: 'hidden',
          },
          { name: t('Charged'), cell: ({ charged }) => <Amount value={charged} />, number: true },
          accountColumn(),
        ]}
      />
      {chosen === '' ? null : <TaskSheet id={chosen} onClose={() => choose('')} />}
    </>
  );
}
