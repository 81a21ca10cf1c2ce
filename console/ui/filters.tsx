import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useRead } from '../api/queries.ts';
import { currentSession } from '../api/session.ts';
import type { ApiKey, Model } from '../api/types.gen.ts';
import { keyNames } from '../lib/key-names.ts';
import { useQueryState } from '../lib/location.ts';
import { language, t } from '../lib/text.ts';
import { isRange, rangeName } from '../lib/time.ts';
import { Choice } from './field.tsx';

function rangeOptions(): [string, string][] {
  return [
    ['1h', t('Last hour')],
    ['6h', t('Last 6 hours')],
    ['24h', t('Last 24 hours')],
    ['7d', t('Last 7 days')],
    ['30d', t('Last 30 days')],
    ['90d', t('Last 90 days')],
    ['365d', t('Last 365 days')],
  ];
}

/** The range in the page's URL. A text that is no range counts as none, so that no figures appear under its name. */
export function useRange(initial: string): [string, (range: string) => void] {
  const [range, setRange] = useQueryState('range', initial);
  return [isRange(range) ? range : initial, setRange];
}

/** Returns whether a range is a preset; a range selected on a chart is not. */
export function isPreset(range: string): boolean {
  return rangeOptions().some(([option]) => option === range);
}

/** Returns the name of a range. */
export function rangeText(range: string): string {
  return rangeOptions().find(([option]) => option === range)?.[1] ?? rangeName(range, language(), Date.now());
}

export interface FilterBarProps {
  /** The value of each filter; empty means all. */
  readonly values: readonly string[];
  readonly children: ComponentChildren;
  /** Actions of the page beside the filters. */
  readonly actions: ComponentChildren;
}

/** The filters of a page with many of them. On phones they are behind a button that shows how many are set. */
export function FilterBar({ values, children, actions }: FilterBarProps) {
  const [isOpen, open] = useState(false);
  const id = useId();
  const count = values.filter((value) => value !== '').length;
  return (
    <div class="page-actions filter-bar">
      <button
        type="button"
        class="button filter-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => open(!isOpen)}
      >
        {count === 0 ? t('Filters') : t('Filters ({count})', { count })}
      </button>
      <div id={id} class={isOpen ? 'filters filters-open' : 'filters'}>
        {children}
      </div>
      {actions}
    </div>
  );
}

export interface FilterProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TYPED_MS = 300;

export interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** Called a moment after the last key; the page's URL changes without a new entry in the history. */
  readonly onChange: (value: string, typing: boolean) => void;
}

/** A text to filter by, applied as it is typed. What is being typed is its own: a list that loads meanwhile does not undo it. */
export function TextFilter({ label, placeholder, value, onChange }: TextFilterProps) {
  const [text, setText] = useState(value);
  const applied = useRef(value);
  useEffect(() => {
    // by Back, or a link
    if (value !== applied.current) {
      applied.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    const typed = text.trim();
    if (typed === applied.current) {
      return undefined;
    }
    const timer = setTimeout(() => {
      applied.current = typed;
      onChange(typed, true);
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** A time range, including one that is not a preset but given by a link. */
export function RangeFilter({ value, onChange, all = false }: FilterProps & { readonly all?: boolean }) {
  const known = [...(all ? [['', t('All time')] as [string, string]] : []), ...rangeOptions()];
  const isKnown = known.some(([option]) => option === value);
  const options = isKnown
    ? known
    : [...known, [value, rangeName(value, language(), Date.now())] as [string, string]];
  return <Choice bare label={t('Range')} value={value} options={options} onChange={onChange} />;
}

/** The models of the catalog, as a filter. */
export function ModelFilter({ value, onChange }: FilterProps) {
  const { data } = useRead<readonly Model[]>('/api/v1/models');
  const known = (data ?? []).map(({ id }): [string, string] => [id, id]);
  return (
    <Choice
      bare
      label={t('Model')}
      value={value}
      options={withAll(t('All models'), known, value)}
      onChange={onChange}
    />
  );
}

/** Paths of calls, whatever the model. Each image model also has a path of its own. */
const ENDPOINTS = [
  '/api/v1/chat/completions',
  '/vendorx/v1/messages',
  '/api/v1/responses',
  '/api/v1/embeddings',
  '/api/v1/rerank',
  '/api/v1/images/generations',
  '/api/v1/videos',
  '/v3/async/video-fast',
];

/** The paid paths, as a filter. */
export function EndpointFilter({ value, onChange }: FilterProps) {
  const { data } = useRead<readonly Model[]>('/api/v1/models');
  const images = (data ?? []).filter(({ endpoints }) => endpoints.includes('image'));
  const paths = [...ENDPOINTS, ...images.map(({ id }) => `/v3/async/${id}`)];
  const known = paths.map((path): [string, string] => [path, path]);
  return (
    <Choice
      bare
      label={t('Endpoint')}
      value={value}
      options={withAll(t('All endpoints'), known, value)}
      onChange={onChange}
    />
  );
}

/** The keys of the account, as a filter; only for owners, because others see only one. */
export function KeyFilter({ value, onChange }: FilterProps) {
  const names = useKeyNames();
  if (currentSession().key.role !== 'owner') {
    return null;
  }
  return (
    <Choice
      bare
      label={t('Key')}
      value={value}
      options={withAll(t('All keys'), [...names], value)}
      onChange={onChange}
    />
  );
}

/** Returns the names of keys by hash; a deleted key has none. */
export function useKeyNames(): ReadonlyMap<string, string> {
  return keyNames(useKeys());
}

function useKeys(): readonly ApiKey[] {
  const isOwner = currentSession().key.role === 'owner';
  return useRead<readonly ApiKey[]>('/api/v1/keys', { limit: 1_000 }, { enabled: isOwner }).data ?? [];
}

/** Adds a value that is not among the known ones, because it was deleted since, so that it stays selected. */
function withAll(all: string, known: readonly [string, string][], value: string): [string, string][] {
  const isKnown = value === '' || known.some(([option]) => option === value);
  return [['', all], ...known, ...(isKnown ? [] : [[value, value.slice(0, 24)] as [string, string]])];
}
