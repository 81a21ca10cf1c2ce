import { useReadAll } from '../../api/queries.ts';
import type { SpeedRow } from '../../api/types.gen.ts';
import { formatCount, language, t } from '../../lib/text.ts';
import { bucketNames, formatDuration, parseRange, type TimeRange } from '../../lib/time.ts';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';

const LIVE_MS = 60_000;

export interface SpeedReportProps {
  readonly range: string;
  readonly apiKey: string;
}

/** Speed of each model by period, newest first. There is no total, because percentiles cannot be added. */
export function SpeedReport({ range, apiKey }: SpeedReportProps) {
  const time = parseRange(range, Date.now());
  const query = {
    start_time: time.start,
    end_time: time.end,
    granularity: time.granularity,
    api_key_hash: apiKey,
  };
  const reading = useReadAll<SpeedRow>('/api/v1/performance', query, { everyMs: LIVE_MS });
  return (
    <Loaded reading={reading} lines={10}>
      {(rows) => (
        <Panel
          flush
          title={t('Speed')}
          actions={<ExportCsv path="/api/v1/performance" query={query} name="performance" />}
        >
          {rows.length === 0 ? (
            <Empty text={t('No calls in this period.')} />
          ) : (
            <>
              <p class="panel-note small quiet">{t('Times are the median / the 95th percentile.')}</p>
              <SpeedTable rows={rows} range={time} />
            </>
          )}
        </Panel>
      )}
    </Loaded>
  );
}

function SpeedTable({ rows, range }: { readonly rows: readonly SpeedRow[]; readonly range: TimeRange }) {
  const starts = rows.map(({ period_start: at }) => Date.parse(at));
  const names = bucketNames(range, starts, language());
  const nameOf = new Map(rows.map((row, index) => [row, names[index]]));
  return (
    <Table
      label={t('Speed')}
      rows={rows.toReversed()}
      rowKey={({ period_start: at, model }) => `${at} ${model}`}
      columns={[
        { name: t('UTC'), cell: (row) => nameOf.get(row) ?? '' },
        { name: t('Model'), cell: ({ model }) => model, clip: true },
        { name: t('Requests'), cell: ({ request_count: count }) => formatCount(count), number: true },
        { name: t('Incomplete'), cell: ({ failed_count: count }) => formatCount(count), number: true },
        {
          name: t('First token'),
          cell: ({ first_token_ms: time }) => <Percentiles of={time} />,
          number: true,
        },
        { name: t('Full answer'), cell: ({ latency_ms: time }) => <Percentiles of={time} />, number: true },
        {
          name: t('Tokens per second'),
          cell: ({ tokens_per_second: speed }) => (speed === null ? '–' : formatCount(Math.round(speed))),
          number: true,
        },
      ]}
    />
  );
}

/** The median and the 95th percentile. */
function Percentiles({ of }: { readonly of: SpeedRow['latency_ms'] }) {
  if (of === null) {
    return <>–</>;
  }
  return (
    <>
      {formatDuration(of.p50)} <span class="quiet">/ {formatDuration(of.p95)}</span>
    </>
  );
}
