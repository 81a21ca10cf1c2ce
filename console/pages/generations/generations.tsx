import { useList } from '../../api/lists.ts';
import type { Generation } from '../../api/types.gen.ts';
import { useQueryState } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { formatDuration, parseRange } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { ExportCsv } from '../../ui/download.tsx';
import { Choice } from '../../ui/field.tsx';
import {
  EndpointFilter,
  FilterBar,
  KeyFilter,
  ModelFilter,
  RangeFilter,
  useRange,
} from '../../ui/filters.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { GenerationSheet } from './generation-sheet.tsx';
import { speedOf } from './speed.ts';

const LIVE_MS = 10_000;

/** The log: every call with its usage and cost. */
export function GenerationsPage() {
  const [model, setModel] = useQueryState('model', '');
  const [status, setStatus] = useQueryState('status', '');
  const [endpoint, setEndpoint] = useQueryState('endpoint', '');
  const [key, setKey] = useQueryState('key', '');
  const [range, setRange] = useRange('');
  const [chosen, choose] = useQueryState('generation', '');
  const time = range === '' ? undefined : parseRange(range, Date.now());
  const query = {
    ...{ model, status, endpoint, api_key_hash: key },
    ...{ start_time: time?.start, end_time: time?.end },
  };
  const listing = useList<Generation>('/api/v1/generations', query, { everyMs: LIVE_MS });
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Generations')}</h1>
        <FilterBar
          values={[range, model, status, endpoint, key]}
          actions={<ExportCsv path="/api/v1/generations" query={query} name="generations" />}
        >
          <RangeFilter all value={range} onChange={setRange} />
          <ModelFilter value={model} onChange={setModel} />
          <Choice bare label={t('State')} value={status} options={statusOptions()} onChange={setStatus} />
          <EndpointFilter value={endpoint} onChange={setEndpoint} />
          <KeyFilter value={key} onChange={setKey} />
        </FilterBar>
      </div>
      <Panel flush>
        <List
          label={t('Generations')}
          listing={listing}
          columns={columns(choose)}
          rowKey={({ id }) => id}
          empty={t('No calls, or none that match the filters.')}
        />
      </Panel>
      {chosen === '' ? null : <GenerationSheet id={chosen} onClose={() => choose('')} />}
    </div>
  );
}

function statusOptions(): [string, string][] {
  return [
    ['', t('All states')],
    ['completed', t('completed')],
    ['failed', t('failed')],
    ['cancelled', t('cancelled')],
  ];
}

/** Images have no tokens. */
function countOf(tokens: number, { total_tokens: total }: Generation['usage']): string {
  return total === 0 ? '–' : formatCount(tokens);
}

function columns(choose: (id: string) => void): Column<Generation>[] {
  return [
    {
      name: t('Time'),
      cell: ({ id, created_at: at }) => (
        <button type="button" class="row-button" onClick={() => choose(id)}>
          <Time at={at} />
        </button>
      ),
    },
    { name: t('Charged'), cell: ({ charged_amount: amount }) => <Amount value={amount} />, number: true },
    { name: t('Model'), cell: ({ model }) => model, clip: true },
    { name: t('State'), cell: ({ status }) => <Status of={status} /> },
    {
      name: t('Tokens in'),
      cell: ({ usage }) => countOf(usage.input_tokens, usage),
      number: true,
      card: 'hidden',
    },
    {
      name: t('Tokens out'),
      cell: ({ usage }) => countOf(usage.output_tokens, usage),
      number: true,
      card: 'hidden',
    },
    {
      name: t('First token'),
      cell: ({ first_token_ms: ms }) => (ms === null ? '–' : formatDuration(ms)),
      number: true,
      card: 'hidden',
    },
    { name: t('Speed'), cell: (row) => speedOf(row), number: true, card: 'hidden' },
  ];
}
