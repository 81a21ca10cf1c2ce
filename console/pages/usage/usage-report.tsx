import { useReadAll } from '../../api/queries.ts';
import { chartSeries, countsOf } from '../../api/spending.ts';
import type { UsageRow } from '../../api/types.gen.ts';
import { formatCount, language, shortCount, t } from '../../lib/text.ts';
import { bucketNames, bucketsOf, isOpenRange, parseRange } from '../../lib/time.ts';
import { Chart } from '../../ui/chart.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';
import { useBars } from './range-of-bars.ts';

const LIVE_MS = 15_000;

export interface UsageReportProps {
  readonly metric: 'requests' | 'tokens';
  readonly range: string;
  readonly apiKey: string;
  readonly zoom: (range: string) => void;
}

interface ModelSums {
  readonly model: string;
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
}

/** Requests or tokens by model over time. */
export function UsageReport({ metric, range, apiKey, zoom }: UsageReportProps) {
  const now = Date.now();
  const time = parseRange(range, now);
  const query = {
    start_time: time.start,
    end_time: time.end,
    granularity: time.granularity,
    api_key_hash: apiKey,
  };
  const reading = useReadAll<UsageRow>('/api/v1/usage', query, { everyMs: LIVE_MS });
  const buckets = bucketsOf(time, now);
  const bars = useBars(time, buckets, apiKey, zoom);
  const title = metric === 'requests' ? t('Requests') : t('Tokens');
  return (
    <Loaded reading={reading} lines={10}>
      {(rows) => {
        const groups = countsOf(rows, buckets, (row) =>
          metric === 'requests' ? row.request_count : row.total_tokens,
        );
        return (
          <Panel title={title} actions={<ExportCsv path="/api/v1/usage" query={query} name="usage" />}>
            {groups.length === 0 ? (
              <Empty text={t('No usage in this period.')} />
            ) : (
              <>
                <Chart
                  label={title}
                  buckets={bucketNames(time, buckets, language())}
                  series={chartSeries(groups, (count) => t('Other ({count})', { count }))}
                  format={(value) => shortCount(Number(value))}
                  isOpen={isOpenRange(time, now)}
                  height={240}
                  {...bars}
                />
                <UsageTable rows={rows} />
              </>
            )}
          </Panel>
        );
      }}
    </Loaded>
  );
}

function UsageTable({ rows }: { readonly rows: readonly UsageRow[] }) {
  return (
    <Table
      label={t('Usage by model')}
      rows={sumsByModel(rows)}
      rowKey={({ model }) => model}
      columns={[
        { name: t('Model'), cell: ({ model }) => model, clip: true },
        { name: t('Requests'), cell: ({ requests }) => formatCount(requests), number: true },
        { name: t('Tokens in'), cell: ({ input }) => formatCount(input), number: true, card: 'hidden' },
        { name: t('Tokens out'), cell: ({ output }) => formatCount(output), number: true, card: 'hidden' },
        {
          name: t('Cached'),
          cell: ({ cached, input }) => (input === 0 ? '–' : `${Math.round((cached * 100) / input)} %`),
          number: true,
          card: 'hidden',
        },
        {
          name: t('Reasoning'),
          cell: ({ reasoning }) => formatCount(reasoning),
          number: true,
          card: 'hidden',
        },
      ]}
    />
  );
}

function sumsByModel(rows: readonly UsageRow[]): ModelSums[] {
  const sums = new Map<string, ModelSums>();
  for (const row of rows) {
    const before = sums.get(row.model) ?? {
      model: row.model,
      requests: 0,
      input: 0,
      output: 0,
      cached: 0,
      reasoning: 0,
    };
    sums.set(row.model, {
      model: row.model,
      requests: before.requests + row.request_count,
      input: before.input + row.input_tokens,
      output: before.output + row.output_tokens,
      cached: before.cached + row.cache_read_tokens,
      reasoning: before.reasoning + row.reasoning_tokens,
    });
  }
  return [...sums.values()].sort((first, second) => second.requests - first.requests);
}
