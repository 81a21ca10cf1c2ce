import type { ComponentChildren } from 'preact';
import { useRead } from '../api/queries.ts';
import type { Pool } from '../api/types.gen.ts';
import { formatCount, t } from '../lib/text.ts';
import { formatDuration } from '../lib/time.ts';
import { Loaded } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';

/** Tasks waiting for engines, and the workers that serve them. A pool without workers is highlighted. */
export function PoolsPanel({
  everyMs,
  action,
}: {
  readonly everyMs: number;
  readonly action?: ComponentChildren;
}) {
  const reading = useRead<readonly Pool[]>('/admin/v1/pools', {}, { everyMs });
  return (
    <Panel title={t('Pools')} actions={action} flush>
      <Loaded reading={reading}>
        {(pools) => (
          <Table
            label={t('Pools')}
            rows={pools}
            rowKey={({ queue }) => queue}
            columns={[
              { name: t('Queue'), cell: ({ queue }) => <span class="mono">{queue}</span> },
              { name: t('Served'), cell: (pool) => <Served pool={pool} /> },
              { name: t('Waiting'), cell: ({ waiting }) => formatCount(waiting), number: true },
              {
                name: t('Oldest'),
                cell: ({ waiting, oldest_wait_seconds: wait }) =>
                  waiting === 0 ? '–' : formatDuration(wait * 1_000),
                number: true,
              },
              {
                name: t('Expected wait'),
                cell: ({ waiting, estimated_wait_seconds: wait }) =>
                  waiting === 0 || wait === null ? '–' : `~${formatDuration(wait * 1_000)}`,
                number: true,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function Served({ pool: { slots, running, waiting } }: { readonly pool: Pool }) {
  if (slots > 0) {
    return <>{t('{running} of {slots} busy', { running, slots })}</>;
  }
  return waiting > 0 ? (
    <strong class="status-bad">▲ {t('NO WORKERS')}</strong>
  ) : (
    <span class="quiet">{t('none; nothing is waiting')}</span>
  );
}
