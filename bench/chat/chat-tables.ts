import type { BenchTable } from '../measure/result.ts';
import { type Spread, spreadOf, spreadTextOf } from '../measure/spread.ts';
import { type AfterPause, type Crowd, type Timing, timingOf } from './load.ts';
import type { MeteredTurn, Turns } from './rounds.ts';
import type { BenchTarget, Comparison } from './targets.ts';

const PARTS_OF_TARGET = ['API', 'own process', 'Postgres', 'Redis', 'worker'];
const PARTS_BESIDES = ['upstream', 'load'];

/** The rows of a table: each a name and the turns behind it. */
export type NamedTurns = readonly (readonly [string, Turns])[];

/** Returns the targets that were measured, in the order of the columns. */
export function measuredTargets({ express, node, floor, portkey, tollgate }: Comparison): BenchTarget[] {
  return [express, node, floor, ...(portkey ? [portkey] : []), tollgate];
}

/** Returns one figure of each turn of a target. */
export function valuesOf(turns: Turns, target: BenchTarget, read: (turn: MeteredTurn) => number): number[] {
  return (turns.get(target) ?? []).map(read);
}

export const perSecond = (turn: MeteredTurn) => timingOf(turn).perSecond;

/** Divides a figure of one target by that of another, round by round. */
export function ratios(
  turns: Turns,
  of: BenchTarget,
  to: BenchTarget,
  read: (turn: MeteredTurn) => number,
): number[] {
  const below = valuesOf(turns, to, read);
  return valuesOf(turns, of, read).map((value, round) => value / below[round]!);
}

/** Returns the calls per second of a target. */
export function throughputOf(turns: Turns, target: BenchTarget): Spread {
  return spreadOf(valuesOf(turns, target, perSecond));
}

export function ratioOf(turns: Turns, of: BenchTarget, to: BenchTarget): Spread {
  return spreadOf(ratios(turns, of, to, perSecond));
}

export function throughputTable(comparison: Comparison, rows: NamedTurns): BenchTable {
  const { tollgate } = comparison;
  const targets = measuredTargets(comparison);
  const others = targets.filter((target) => target !== tollgate);
  return {
    title: '**Calls per second**, closed loop; the ratios are of the same round.',
    rows: [
      ['', ...targets.map(({ name }) => name), ...others.map(({ name }) => `Tollgate ÷ ${name}`)],
      ...rows.map(([name, turns]) => [
        name,
        ...targets.map((target) => spreadTextOf(valuesOf(turns, target, perSecond))),
        ...others.map((other) => spreadTextOf(ratios(turns, tollgate, other, perSecond), 2)),
      ]),
    ],
  };
}

const PERCENTILES: readonly (readonly [string, keyof Timing])[] = [
  ['p50', 'p50Ms'],
  ['p99', 'p99Ms'],
  ['p99.9', 'p999Ms'],
];

/** Returns the ms that a target adds to another at one percentile, round by round. */
function addedMs(turns: Turns, of: BenchTarget, to: BenchTarget, percentile: keyof Timing): number[] {
  const read = (turn: MeteredTurn) => timingOf(turn)[percentile];
  const below = valuesOf(turns, to, read);
  return valuesOf(turns, of, read).map((value, round) => value - below[round]!);
}

export function addedOf(turns: Turns, of: BenchTarget, to: BenchTarget, percentile: keyof Timing): Spread {
  return spreadOf(addedMs(turns, of, to, percentile));
}

export function latencyTable(title: string, { tollgate, node }: Comparison, rows: NamedTurns): BenchTable {
  const targets = [...(rows[0]?.[1].keys() ?? [])];
  return {
    title,
    rows: [
      ['ms', ...targets.map(({ name }) => name), `Tollgate adds to ${node.name}`],
      ...rows.flatMap(([name, turns]) =>
        PERCENTILES.map(([percentile, key]) => [
          `${name}, ${percentile}`,
          ...targets.map((target) =>
            spreadTextOf(
              valuesOf(turns, target, (turn) => timingOf(turn)[key]),
              1,
            ),
          ),
          spreadTextOf(addedMs(turns, tollgate, node, key), 1),
        ]),
      ),
    ],
  };
}

/** Returns the processor time in ms that all parts of a target spent per call of one turn. */
export function processorMsIn(turn: MeteredTurn): number {
  return sumOf(turn, PARTS_OF_TARGET);
}

/** Returns {@link processorMsIn} over all turns. */
export function processorMsOf(turns: Turns, target: BenchTarget): Spread {
  return spreadOf(valuesOf(turns, target, processorMsIn));
}

function sumOf({ msPerCall }: MeteredTurn, parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + (msPerCall[part] ?? 0), 0);
}

export function processorTable(title: string, comparison: Comparison, turns: Turns): BenchTable {
  const targets = measuredTargets(comparison);
  const cell = (target: BenchTarget, parts: readonly string[]) =>
    parts.every((part) => target.meters[part] === undefined)
      ? ''
      : spreadTextOf(
          valuesOf(turns, target, (turn) => sumOf(turn, parts)),
          3,
        );
  const columns = [...PARTS_OF_TARGET, ...PARTS_BESIDES];
  return {
    title,
    rows: [
      ['ms', 'all parts of it', ...columns],
      ...targets.map((target) => [
        target.name,
        cell(target, PARTS_OF_TARGET),
        ...columns.map((column) => cell(target, [column])),
      ]),
    ],
  };
}

export function pauseTable(
  targets: readonly BenchTarget[],
  rounds: readonly (readonly AfterPause[])[],
  seconds: number,
): BenchTable {
  const of = (index: number, read: (found: AfterPause) => number) =>
    rounds.map((round) => read(round[index]!));
  return {
    title: `**The first call after a pause** of ${seconds} s, one client, instant upstream.`,
    rows: [
      ['ms', 'in sequence, p50', 'first after the pause', 'ratio'],
      ...targets.map(({ name }, index) => [
        name,
        spreadTextOf(
          of(index, ({ inSequenceMs }) => inSequenceMs),
          1,
        ),
        spreadTextOf(
          of(index, ({ firstMs }) => firstMs),
          1,
        ),
        spreadTextOf(
          of(index, ({ firstMs, inSequenceMs }) => firstMs / inSequenceMs),
          1,
        ),
      ]),
    ],
  };
}

export function crowdTable(
  streams: number,
  perSecond: number,
  { complete, atOnce, firstToken }: Crowd,
): BenchTable {
  return {
    title: `**Many streams at once**: ${streams} of 20 s through Tollgate, ${perSecond} more each second; one round.`,
    rows: [
      ['came whole', 'most at once', 'first token p50 / p99, ms (the upstream takes 1,010)'],
      [
        `${complete.toLocaleString('en')} of ${streams.toLocaleString('en')}`,
        atOnce.toLocaleString('en'),
        `${firstToken.p50Ms.toFixed(1)} / ${firstToken.p99Ms.toFixed(1)}`,
      ],
    ],
  };
}
