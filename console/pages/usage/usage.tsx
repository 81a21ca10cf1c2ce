import { currentSession } from '../../api/session.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Choice, Tabs } from '../../ui/field.tsx';
import { KeyFilter, RangeFilter } from '../../ui/filters.tsx';
import { CostReport } from './cost-report.tsx';
import { SpeedReport } from './speed-report.tsx';
import { UsageReport } from './usage-report.tsx';

/** What was used and what it cost, over time; the table below each chart is what the chart shows. */
export function UsagePage() {
  const [tab] = useQueryState('tab', 'cost');
  const [range, setRange] = useQueryState('range', '30d');
  const [group, setGroup] = useQueryState('group', 'model');
  const [key, setKey] = useQueryState('key', '');
  const isOwner = currentSession().key.role === 'owner';
  const kept = { range: range === '30d' ? '' : range, key };
  const tabs: [string, string][] = [
    ['cost', t('Cost')],
    ['requests', t('Requests')],
    ['tokens', t('Tokens')],
    ['speed', t('Speed')],
  ];
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Usage & Costs')}</h1>
        <div class="page-actions filters">
          <RangeFilter value={range} onChange={setRange} />
          {tab === 'cost' ? (
            <Choice
              bare
              label={t('Group by')}
              value={group}
              options={groupOptions(isOwner)}
              onChange={setGroup}
            />
          ) : null}
          <KeyFilter value={key} onChange={setKey} />
        </div>
      </div>
      <Tabs
        label={t('Usage & Costs')}
        value={tab}
        options={tabs.map(([name, text]) => [
          name,
          text,
          to('usage', { ...kept, tab: name === 'cost' ? '' : name }),
        ])}
      />
      <Chosen tab={tab} range={range} group={group} apiKey={key} />
    </div>
  );
}

interface ChosenProps {
  readonly tab: string;
  readonly range: string;
  readonly group: string;
  readonly apiKey: string;
}

function Chosen({ tab, range, group, apiKey }: ChosenProps) {
  switch (tab) {
    case 'requests':
    case 'tokens':
      return <UsageReport metric={tab} range={range} apiKey={apiKey} />;
    case 'speed':
      return <SpeedReport range={range} apiKey={apiKey} />;
    default:
      return <CostReport range={range} group={group} apiKey={apiKey} />;
  }
}

function groupOptions(isOwner: boolean): [string, string][] {
  return [
    ['model', t('by model')],
    ...(isOwner ? [['api_key', t('by key')] as [string, string]] : []),
    ['endpoint', t('by endpoint')],
    ['line', t('by price line')],
  ];
}
