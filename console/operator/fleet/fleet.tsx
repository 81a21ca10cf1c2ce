import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { refresh, useRead } from '../../api/queries.ts';
import type { Queue, Worker } from '../../api/types.gen.ts';
import { SERVICE } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { Empty, Loaded, Problem } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { PoolsPanel } from '../pools.tsx';
import { ProvidersPanel } from '../providers.tsx';

const LIVE_MS = 5_000;
const MINUTE_MS = 60_000;

/** Pools, workers, queues, providers. */
export function FleetPage() {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Fleet')}</h1>
      <PoolsPanel everyMs={LIVE_MS} />
      <Workers />
      <Queues />
      <ProvidersPanel everyMs={MINUTE_MS} />
    </div>
  );
}

function Workers() {
  const reading = useRead<readonly Worker[]>('/admin/v1/workers', {}, { everyMs: LIVE_MS });
  const switching = useAction(async ({ host, draining }: Worker) => {
    await send('POST', `/admin/v1/workers/${host}/${draining === 'operator' ? 'resume' : 'drain'}`);
    refresh('/admin/v1/workers');
  });
  return (
    <Panel title={t('Workers')} flush>
      {switching.error === undefined ? null : <Problem error={switching.error} />}
      <Loaded reading={reading}>
        {(workers) =>
          workers.length === 0 ? (
            <Empty text={t('No workers. Tasks wait until one starts.')} />
          ) : (
            <Table
              label={t('Workers')}
              rows={workers}
              rowKey={({ host, worker }) => worker ?? host}
              columns={[
                {
                  name: t('Worker'),
                  cell: ({ host, worker }) => <span class="mono">{worker ?? host}</span>,
                  clip: true,
                },
                { name: t('State'), cell: (worker) => <WorkerState worker={worker} /> },
                {
                  name: t('Last seen'),
                  cell: ({ seen_at: at }) => (at === null ? '–' : <Time at={at} relative />),
                  card: 'named',
                },
                {
                  name: t('Serves'),
                  cell: ({ queues }) => queues.join(', ') || '–',
                  clip: true,
                  card: 'wide',
                },
                { name: t('Running'), cell: ({ running }) => formatCount(running), number: true },
                {
                  name: t('Action'),
                  cell: (worker) => (
                    <button
                      type="button"
                      class="button"
                      disabled={switching.isPending}
                      onClick={() => void switching.run(worker)}
                    >
                      {worker.draining === 'operator' ? t('Resume') : t('Drain')}
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

function WorkerState({ worker: { worker, draining, away, misconfigured } }: { readonly worker: Worker }) {
  if (draining !== null) {
    return <span class="status-wait">◐ {worker === null ? t('drained') : t('draining')}</span>;
  }
  if (misconfigured.length > 0) {
    const pools = misconfigured.join(', ');
    return <span class="status-bad">✕ {t('engine misconfigured: {pools}', { pools })}</span>;
  }
  return away.length > 0 ? (
    <span class="status-bad">✕ {t('engine unreachable: {pools}', { pools: away.join(', ') })}</span>
  ) : (
    <span class="status-good">● {t('alive')}</span>
  );
}

function Queues() {
  const reading = useRead<readonly Queue[]>('/admin/v1/queues', {}, { everyMs: LIVE_MS });
  const switching = useAction(async ({ name, paused }: Queue) => {
    await send('POST', `/admin/v1/queues/${name}/${paused ? 'resume' : 'pause'}`);
    refresh('/admin/v1/queues');
  });
  const board = (
    <a href={`${SERVICE}admin/queues`} target="_self">
      {t('Queue board')}
    </a>
  );
  return (
    <Panel title={t('Queues')} actions={board} flush>
      {switching.error === undefined ? null : <Problem error={switching.error} />}
      <Loaded reading={reading}>
        {(queues) => (
          <Table
            label={t('Queues')}
            rows={queues}
            rowKey={({ name }) => name}
            columns={[
              { name: t('Queue'), cell: ({ name }) => <span class="mono">{name}</span> },
              {
                name: t('State'),
                cell: (queue) => (
                  <Status of={queue.paused ? 'paused' : queue.resting_ms > 0 ? 'resting' : 'open_for_work'} />
                ),
              },
              {
                name: t('Waiting'),
                cell: ({ jobs }) => formatCount(jobs.waiting + jobs.delayed),
                number: true,
              },
              { name: t('Active'), cell: ({ jobs }) => formatCount(jobs.active), number: true },
              { name: t('Failed'), cell: ({ jobs }) => formatCount(jobs.failed), number: true },
              {
                name: t('Action'),
                cell: (queue) => (
                  <button
                    type="button"
                    class="button"
                    disabled={switching.isPending}
                    onClick={() => void switching.run(queue)}
                  >
                    {queue.paused ? t('Resume') : t('Pause')}
                  </button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
