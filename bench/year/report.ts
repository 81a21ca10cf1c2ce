import { machineFacts, markdownTable } from '../measure/table.ts';
import { atTarget, lineOf, type Series, shareOfLimit, TARGET, type Unit } from './extrapolate.ts';
import { bytesByRelation, type Measured, seriesOf } from './series.ts';

const KILO = 1_000;
/** Tables with fewer bytes per call than this get no row. */
const BYTES_PER_CALL_MIN = 1;

/** Returns the page of a run: the measurement at each size, its slope, its value at the target, and what breaks first there. */
export function yearPage(
  runs: readonly Measured[],
  { postgresVersion, options }: { readonly postgresVersion: string; readonly options: readonly string[] },
): string {
  const command = ['npm run bench:year', ...(options.length > 0 ? ['--', ...options] : [])].join(' ');
  const accounts = runs[0]!.year.shape.accounts;
  const series = seriesOf(runs);
  return `# A year

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}. ${machineFacts()}. Postgres ${postgresVersion}, fsync on, with
128 MB of shared buffers, on the same machine.

A year of ${accounts.toLocaleString('en')} accounts is written in ${runs.length} sizes: the n-th account has a share of 1/n of what the first has, calls come in
sessions of eight on one key and model, 20 seconds apart, and rows are inserted in the order of time, so that indexes are as full as in
service. Eleven months are closed, the twelfth is due, and a day after it is new to the nightly proof. Every proof at every size found the
books right, with a month archived, too. The right column carries the line through the measured values on to
${TARGET.accounts.toLocaleString('en')} accounts and ${TARGET.calls.toLocaleString('en')} calls a year; what does not grow with calls is taken to grow with accounts. It is arithmetic, not a measurement:
a database that does not fit into memory is slower.

${markdownTable([head(runs, 'limit'), ...series.map((one) => row(one, accounts))])}

## The first to break

${firstToBreak(series, accounts)}

## Bytes per call

After the vacuum, before the last month is closed; the last column is the slope when every month is closed and [packed](books.md). The slope
leaves out what does not grow with calls. Calls that are further apart than five minutes share no roll-up and need more of them; documents of
statements are not in it. No caller chose the id of its request: one that is chosen stands in the row, and in an index.

${bytesTable(runs)}
`;
}

function head(runs: readonly Measured[], last: string): string[] {
  const sizes = runs.map(({ year }) => `${year.calls.toLocaleString('en')} calls`);
  return ['', ...sizes, 'slope', 'at the target', last];
}

function row(series: Series, accounts: number): string[] {
  const { name, unit, points, limit } = series;
  const target = atTarget(series, accounts);
  return [
    name,
    ...points.map(({ value }) => text(value, unit)),
    target === undefined ? '' : slopeText(series),
    target === undefined ? '' : text(target, unit),
    limit === undefined ? '' : `${text(limit.value, unit)}: ${limit.why}`,
  ];
}

/** Returns sentences about the figures that exceed their limits at the target, the worst first, or about the closest one when none does. */
function firstToBreak(series: readonly Series[], accounts: number): string {
  const ranked = series
    .map((one) => ({ one, share: shareOfLimit(one, accounts) }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share);
  const broken = ranked.filter(({ share }) => share > 1);
  if (broken.length === 0) {
    const [nearest] = ranked;
    return `Nothing passes its limit; nearest is **${nearest?.one.name}**, at ${((nearest?.share ?? 0) * 100).toFixed(0)} % of it.`;
  }
  return broken
    .map(({ one, share }, index) => {
      const { slope, base } = lineOf(one);
      const whole = one.target === undefined ? '' : breaksAt(one, slope, (base * TARGET.accounts) / accounts);
      return `${index + 1}. **${one.name}**: ${share.toFixed(1)} times its limit (${one.limit?.why})${whole}.`;
    })
    .join('\n');
}

function breaksAt({ limit, of }: Series, slope: number, base: number): string {
  const count = ((limit?.value ?? 0) - base) / slope;
  return count > 0 ? `, reached at ${Math.round(count / 1e5) / 10} million ${of}` : '';
}

function bytesTable(runs: readonly Measured[]): string {
  const all = bytesByRelation(runs, (run) => run.relations);
  const packed = bytesByRelation(runs, (run) => run.packed);
  const grows = new Set(
    all
      .filter((one) => one.index === null && lineOf(one).slope >= BYTES_PER_CALL_MIN)
      .map(({ table }) => table),
  );
  const relations = all.filter(({ table }) => grows.has(table));
  const perCall = (value: number) => value.toFixed(0);
  const slopeOf = (of: typeof relations) => of.reduce((sum, one) => sum + lineOf(one).slope, 0);
  const packedSlope = (of: typeof relations) =>
    slopeOf(
      packed.filter((one) => of.some(({ table, index }) => one.table === table && one.index === index)),
    );
  const rows = relations.map((one) => [
    one.index === null ? one.table : `– ${one.index}`,
    ...one.points.map(({ count, value }) => perCall(value / count)),
    perCall(lineOf(one).slope),
    perCall(packedSlope([one])),
  ]);
  const sums = runs.map((_, place) =>
    relations.reduce((sum, { points }) => sum + points[place]!.value / points[place]!.count, 0),
  );
  const booked = relations.filter(({ table }) => table === 'generations' || table === 'ledger_entries');
  const total = (name: string, values: readonly number[], of: typeof relations) => [
    `**${name}**`,
    ...values.map(perCall),
    `**${perCall(slopeOf(of))}**`,
    `**${perCall(packedSlope(of))}**`,
  ];
  const bookedOf = (place: number) =>
    booked.reduce((sum, { points }) => sum + points[place]!.value / points[place]!.count, 0);
  return markdownTable([
    [
      'table, – its indexes',
      ...runs.map(({ year }) => `${year.calls.toLocaleString('en')} calls`),
      'slope',
      'packed',
    ],
    ...rows,
    total(
      'calls and entries',
      runs.map((_, place) => bookedOf(place)),
      booked,
    ),
    total('all of it', sums, relations),
  ]);
}

function slopeText(series: Series): string {
  const { slope } = lineOf(series);
  return series.unit === 'bytes'
    ? `${slope.toFixed(0)} B each of ${series.of}`
    : `${(slope * 1e6).toPrecision(3)} ${series.unit} per million ${series.of}`;
}

function text(value: number, unit: Unit): string {
  if (unit === 'bytes') {
    return bytesText(value);
  }
  if (unit === 'ms') {
    return `${value.toFixed(1)} ms`;
  }
  return value < 120 ? `${value.toFixed(1)} s` : durationText(value);
}

function bytesText(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log(Math.max(1, value)) / Math.log(KILO)));
  return `${(value / KILO ** power).toFixed(power < 2 ? 0 : 1)} ${units[power]}`;
}

function durationText(seconds: number): string {
  return seconds < 7_200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}
