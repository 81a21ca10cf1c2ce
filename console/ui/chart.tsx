import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { shareOf } from '../lib/money.ts';
import { t } from '../lib/text.ts';
import { endsOf, type Selection, useChartSelection } from './chart-selection.ts';

export interface Series {
  readonly name: string;
  /** One value per bucket: nano-USD, or a count. */
  readonly values: readonly bigint[];
  /** Color 1 to 6; the last one is for everything else. */
  readonly color: number;
}

export interface ChartProps {
  readonly label: string;
  /** Names of the buckets, oldest first. */
  readonly buckets: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: bigint) => string;
  /** Whether the last bucket is still filling. */
  readonly isOpen: boolean;
  /** Called with the index of a bucket that was chosen by Enter or a click. */
  readonly onChoose?: (bucket: number) => void;
  /** Called with the first and last bucket of a range that was selected by dragging, or with Shift, the arrow keys and Enter. */
  readonly onRange?: (first: number, last: number) => void;
  readonly height?: number;
}

const LEFT = 64;
const BOTTOM = 20;
const TOP = 8;
/** Approximate width of a letter on an axis, in px. */
const LETTER = 7;

/** Stacked bars over time: one path per series, however many buckets, and a table for users who cannot see it. */
export function Chart(props: ChartProps) {
  const { label, buckets, series, format, isOpen, onChoose, onRange, height = 200 } = props;
  const [ref, width] = useWidth();
  const totals = buckets.map((_, bucket) =>
    series.reduce((sum, { values }) => sum + (values[bucket] ?? 0n), 0n),
  );
  const ticks = niceTicks(totals.reduce((most, total) => (total > most ? total : most), 0n));
  const top = ticks.at(-1) ?? 1n;
  const plot = { width: Math.max(10, width - LEFT), height: height - BOTTOM - TOP };
  const slot = plot.width / Math.max(1, buckets.length);
  const { selection, handlers } = useChartSelection({ buckets, left: LEFT, slot, onChoose, onRange });
  const last = Math.max(0, buckets.length - 1);
  const hintId = useId();
  return (
    <figure class="chart" ref={ref}>
      <div
        role="slider"
        tabIndex={0}
        class={onRange ? 'chart-draggable' : undefined}
        aria-label={label}
        aria-describedby={hintId}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={selection?.at ?? last}
        aria-valuetext={describe(selection ?? { from: last, at: last, isRange: false }, props, totals)}
        {...handlers}
      >
        <svg width={width} height={height} aria-hidden="true">
          <Hatches />
          <Axes ticks={ticks} top={top} plot={plot} buckets={buckets} slot={slot} format={format} />
          {selection ? <Selected selection={selection} slot={slot} height={plot.height} /> : null}
          <g transform={`translate(${LEFT} ${TOP})`}>
            {stackedPaths(series, top, plot.height, slot).map(({ name, color, path }) => (
              <g key={name}>
                <path d={path} class={`series-${color}`} />
                <path d={path} class={`hatch-${color}`} />
              </g>
            ))}
            {isOpen && totals.length > 0 ? (
              <rect
                class="chart-open"
                x={(totals.length - 1) * slot}
                y={0}
                width={slot}
                height={plot.height}
              />
            ) : null}
          </g>
        </svg>
      </div>
      <span id={hintId} hidden>
        {hint(props)}
      </span>
      <p class="chart-text" aria-hidden="true">
        {selection ? describe(selection, props, totals) : hint(props)}
      </p>
      <figcaption class="legend">
        {series.map(({ name, color }) => (
          <span key={name} class="legend-entry">
            <svg width="12" height="12" aria-hidden="true">
              <rect width="12" height="12" class={`series-${color}`} />
              <rect width="12" height="12" class={`hatch-${color}`} />
            </svg>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function hint({ onChoose, onRange }: ChartProps): string {
  const text = onChoose
    ? t('Move over the bars, or use the arrow keys; a click or Enter shows the calls')
    : t('Move over the bars, or use the arrow keys');
  return onRange ? t('{hint}; drag, or hold Shift, to select a time range', { hint: text }) : text;
}

function Selected({
  selection,
  slot,
  height,
}: {
  readonly selection: Selection;
  readonly slot: number;
  readonly height: number;
}) {
  const [first, last] = endsOf(selection);
  const width = (last - first + 1) * slot;
  const look = selection.isRange ? 'chart-at chart-range' : 'chart-at';
  return <rect class={look} x={LEFT + first * slot} y={TOP} width={width} height={height} />;
}

/** Describes the values of a bucket, or the sums of several. */
function describe(
  selection: Selection,
  { buckets, series, format }: ChartProps,
  totals: readonly bigint[],
): string {
  const [first, last] = endsOf(selection);
  const sum = (values: readonly bigint[]) =>
    values.slice(first, last + 1).reduce((before, value) => before + value, 0n);
  const parts = series
    .map(({ name, values }) => ({ name, value: sum(values) }))
    .filter(({ value }) => value !== 0n)
    .map(({ name, value }) => `${name} ${format(value)}`);
  const total = parts.length === 1 ? [] : [`${t('total')} ${format(sum(totals))}`];
  const time = first === last ? (buckets[first] ?? '') : `${buckets[first] ?? ''} – ${buckets[last] ?? ''}`;
  const what = selection.isRange ? [t('Enter shows this time range')] : [];
  return [`${time} UTC`, ...parts, ...total, ...what].join(' · ');
}

function stackedPaths(series: readonly Series[], top: bigint, height: number, slot: number) {
  const base: bigint[] = [];
  const gap = slot > 4 ? Math.min(4, slot * 0.2) : 0;
  return series.map(({ name, color, values }) => {
    const path = values
      .map((value, bucket) => {
        const from = base[bucket] ?? 0n;
        base[bucket] = from + value;
        if (value <= 0n) {
          return '';
        }
        const [low, high] = [height * (1 - shareOf(from, top)), height * (1 - shareOf(from + value, top))];
        return `M${(bucket * slot + gap / 2).toFixed(1)} ${low.toFixed(1)}h${(slot - gap).toFixed(1)}V${high.toFixed(1)}h${(gap - slot).toFixed(1)}z`;
      })
      .join('');
    return { name, color, path };
  });
}

interface AxesProps {
  readonly ticks: readonly bigint[];
  readonly top: bigint;
  readonly plot: { readonly width: number; readonly height: number };
  readonly buckets: readonly string[];
  readonly slot: number;
  readonly format: (value: bigint) => string;
}

function Axes({ ticks, top, plot, buckets, slot, format }: AxesProps) {
  const longest = buckets.reduce((most, { length }) => Math.max(most, length), 0);
  const every = Math.max(1, Math.ceil(Math.max(64, longest * LETTER + 12) / slot));
  return (
    <g class="chart-axes">
      {ticks.map((tick) => {
        const y = TOP + plot.height * (1 - shareOf(tick, top));
        return (
          <g key={String(tick)}>
            <line x1={LEFT} x2={LEFT + plot.width} y1={y} y2={y} />
            <text x={LEFT - 8} y={y + 4} text-anchor="end">
              {format(tick)}
            </text>
          </g>
        );
      })}
      {buckets.map((name, bucket) =>
        bucket % every === 0 && (bucket + 1) * slot >= 24 && (buckets.length - bucket) * slot >= 24 ? (
          <text key={name} x={LEFT + (bucket + 0.5) * slot} y={TOP + plot.height + 15} text-anchor="middle">
            {name}
          </text>
        ) : null,
      )}
    </g>
  );
}

/** Distinguishes fills by more than color. */
function Hatches() {
  return (
    <defs>
      <pattern id="hatch-2" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line x1="0" y1="0" x2="0" y2="6" class="hatch-line" />
      </pattern>
      <pattern id="hatch-3" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
        <line x1="0" y1="0" x2="0" y2="6" class="hatch-line" />
      </pattern>
      <pattern id="hatch-4" width="6" height="6" patternUnits="userSpaceOnUse">
        <line x1="0" y1="3" x2="6" y2="3" class="hatch-line" />
      </pattern>
      <pattern id="hatch-5" width="6" height="6" patternUnits="userSpaceOnUse">
        <circle cx="3" cy="3" r="1.200" class="hatch-dot" />
      </pattern>
    </defs>
  );
}

/** Returns zero and up to four round values above it; the last one is at least `most`. */
export function niceTicks(most: bigint): bigint[] {
  if (most <= 0n) {
    return [0n, 1n];
  }
  for (let unit = 1n; ; unit *= 10n) {
    for (const factor of [1n, 2n, 5n]) {
      const step = unit * factor;
      const count = (most + step - 1n) / step;
      if (count <= 4n) {
        return Array.from({ length: Number(count) + 1 }, (_, index) => step * BigInt(index));
      }
    }
  }
}

function useWidth() {
  const ref = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = ref.current;
    if (!element) {
      return;
    }
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width] as const;
}
