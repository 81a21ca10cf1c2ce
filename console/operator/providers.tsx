import { useRead } from '../api/queries.ts';
import type { ProviderHealth } from '../api/types.gen.ts';
import { formatCount, t } from '../lib/text.ts';
import { formatDuration } from '../lib/time.ts';
import { Empty, Loaded } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';
import { percentOf } from './margin.ts';

/** Recent health of providers and engines. */
export function ProvidersPanel({ everyMs }: { readonly everyMs: number }) {
  const reading = useRead<readonly ProviderHealth[]>('/admin/v1/providers', {}, { everyMs });
  return (
    <Panel title={t('Providers, last hour')} flush>
      <Loaded reading={reading}>
        {(rows) =>
          rows.length === 0 ? <Empty text={t('No calls in the last hour.')} /> : <Health rows={rows} />
        }
      </Loaded>
    </Panel>
  );
}

function Health({ rows }: { readonly rows: readonly ProviderHealth[] }) {
  return (
    <Table
      label={t('Providers, last hour')}
      rows={rows}
      rowKey={({ provider, model }) => `${provider} ${model}`}
      columns={[
        { name: t('Provider'), cell: ({ provider }) => provider },
        { name: t('Model'), cell: ({ model }) => model, clip: true },
        { name: t('Circuit'), cell: ({ circuit }) => <Circuit of={circuit} />, number: true },
        {
          name: t('5 minutes'),
          cell: ({ attempts_5m: attempts, failed_5m: failed }) => <Success of={attempts} failed={failed} />,
          number: true,
        },
        {
          name: t('1 hour'),
          cell: ({ attempts, failed }) => <Success of={attempts} failed={failed} />,
          number: true,
        },
        { name: t('Attempts'), cell: ({ attempts }) => formatCount(attempts), number: true, card: 'hidden' },
        {
          name: t('Median, p95'),
          cell: ({ latency_ms: { p50, p95 } }) =>
            p50 === null || p95 === null ? '–' : `${formatDuration(p50)}, ${formatDuration(p95)}`,
          number: true,
        },
        {
          name: t('Failures'),
          cell: ({ failures, last_said: said }) => failuresOf(failures, said),
          clip: true,
          card: 'wide',
        },
      ]}
    />
  );
}

/** Each API process decides on its own which providers it stops calling. */
function Circuit({ of }: { readonly of: ProviderHealth['circuit'] }) {
  if (of === null) {
    return <>–</>;
  }
  const names = [...of.resting, ...of.cooling];
  return names.length === 0 ? (
    <span class="status-good">● {t('closed')}</span>
  ) : (
    <span class="status-wait" title={names.join(', ')}>
      ▲ {t('{open} of {replicas} open', { open: names.length, replicas: of.replicas })}
    </span>
  );
}

function failuresOf(failures: ProviderHealth['failures'], said: string | null) {
  const reasons = Object.entries(failures).map(([reason, count]) => `${reason} ${count}`);
  return reasons.length === 0 ? '–' : <span title={said ?? ''}>{reasons.join(', ')}</span>;
}

/** Rounding to whole percent would hide one failure in a thousand. */
function Success({ of, failed }: { readonly of: number; readonly failed: number }) {
  if (of === 0) {
    return <>–</>;
  }
  const share = percentOf(BigInt(of - failed), BigInt(of));
  return failed === 0 ? (
    <span class="status-good">● {share}</span>
  ) : (
    <span class="status-wait">▲ {share}</span>
  );
}
