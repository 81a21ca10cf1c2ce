import { useLocation } from 'preact-iso/router';
import { currentSession } from '../../api/session.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Choice, Tabs } from '../../ui/field.tsx';
import { isPreset, KeyFilter, RangeFilter, rangeText, useRange } from '../../ui/filters.tsx';
import { CostReport } from './cost-report.tsx';
import { SpeedReport } from './speed-report.tsx';
import { UsageReport } from './usage-report.tsx';

const DEFAULTS = { tab: 'cost', range: '30d', group: 'model' };

/** Usage and cost over time. The table below each chart shows the same data. */
export function UsagePage() {
  const { route } = useLocation();
  const [tab] = useQueryState('tab', DEFAULTS.tab);
  const [range, setRange] = useRange(DEFAULTS.range);
  const [whole] = useQueryState('whole', '');
  const [group, setGroup] = useQueryState('group', DEFAULTS.group);
  const [key, setKey] = useQueryState('key', '');
  const isOwner = currentSession().key.role === 'owner';
  const address = (next: { tab?: string; range?: string; whole?: string }) =>
    to('usage', withoutDefaults({ tab, range, whole, group, key, ...next }));
  const isZoomed = !isPreset(range);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Usage & Costs')}</h1>
        <div class="page-actions filters">
          {isZoomed ? (
            <a class="button" href={address({ range: whole || DEFAULTS.range, whole: '' })}>
              {t('Back to: {range}', { range: rangeText(whole || DEFAULTS.range) })}
            </a>
          ) : null}
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
        options={tabs().map(([name, text]) => [name, text, address({ tab: name })])}
      />
      <Chosen
        tab={tab}
        range={range}
        group={group}
        apiKey={key}
        zoom={(part) => route(address({ range: part, whole: isZoomed ? whole : range }))}
      />
    </div>
  );
}

/** Removes default values from an address. */
function withoutDefaults(query: Readonly<Record<string, string>>): Record<string, string> {
  const initial: Readonly<Record<string, string>> = DEFAULTS;
  return Object.fromEntries(Object.entries(query).filter(([name, value]) => initial[name] !== value));
}

function tabs(): [string, string][] {
  return [
    ['cost', t('Cost')],
    ['requests', t('Requests')],
    ['tokens', t('Tokens')],
    ['speed', t('Speed')],
  ];
}

interface ChosenProps {
  readonly tab: string;
  readonly range: string;
  readonly group: string;
  readonly apiKey: string;
  /** Narrows the range. */
  readonly zoom: (range: string) => void;
}

function Chosen({ tab, range, group, apiKey, zoom }: ChosenProps) {
  switch (tab) {
    case 'requests':
    case 'tokens':
      return <UsageReport metric={tab} range={range} apiKey={apiKey} zoom={zoom} />;
    case 'speed':
      return <SpeedReport range={range} apiKey={apiKey} />;
    default:
      return <CostReport range={range} group={group} apiKey={apiKey} zoom={zoom} />;
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
