import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import type { BenchResult } from '../measure/result.ts';
import { spreadText } from '../measure/spread.ts';
import {
  addedOf,
  crowdTable,
  latencyTable,
  measuredTargets,
  pauseTable,
  processorMsOf,
  processorTable,
  ratioOf,
  throughputOf,
  throughputTable,
} from './chat-tables.ts';
import type { Kind } from './connections.ts';
import { type AfterPause, atRate, callAfterPause, crowd, saturate, warmUp } from './load.ts';
import { type Measurement, runRounds, type Turns } from './rounds.ts';
import { type BenchTarget, type Comparison, startComparison, startUpstream } from './targets.ts';

interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpCalls: number;
  readonly connections: readonly number[];
  readonly rates: readonly number[];
  readonly pauseSeconds: number;
  readonly streamsAtOnce: number;
}

const FULL: Effort = {
  rounds: 3,
  seconds: 8,
  warmUpCalls: 40_000,
  connections: [8, 32, 64, 128],
  rates: [200, 500, 1_000],
  pauseSeconds: 30,
  streamsAtOnce: 2_000,
};
/** At most three minutes: for a quick look, not for figures to quote. */
const QUICK: Effort = {
  rounds: 1,
  seconds: 2,
  warmUpCalls: 4_000,
  connections: [32, 128],
  rates: [200, 1_000],
  pauseSeconds: 12,
  streamsAtOnce: 200,
};

const STREAM_RATE = 50;
const STREAMS_PER_SECOND = 200;
const CALLS_IN_SEQUENCE = 100;
const UPSTREAMS: readonly (readonly [string, Kind])[] = [
  ['instant', 'instant'],
  ['10 ms', 'plain'],
];

const throughputName = (connections: number, upstream: string) =>
  `${connections} connections, upstream ${upstream}`;
const rateName = (rate: number) => `${rate.toLocaleString('en')}/s`;
const FIRST_TOKEN = `${STREAM_RATE} streams/s`;

/** Returns the measurements of a round. The name of each is also the name of its table row. */
function measurementsOf(comparison: Comparison, effort: Effort): Record<string, Measurement> {
  const { seconds } = effort;
  const targets = measuredTargets(comparison);
  const saturated = effort.connections.flatMap((connections) =>
    UPSTREAMS.map(([upstream, kind]): [string, Measurement] => [
      throughputName(connections, upstream),
      { targets, take: (target) => saturate(target, kind, connections, seconds) },
    ]),
  );
  const paced = effort.rates.map((rate): [string, Measurement] => [
    rateName(rate),
    { targets, take: (target) => atRate(target, 'plain', rate, seconds) },
  ]);
  // With Node 20, Portkey answers every stream of this upstream with 500 (`TypeError: immutable` in its own headers)
  const streaming = targets.filter((target) => target !== comparison.floor && !target.isForeign);
  return {
    ...Object.fromEntries([...saturated, ...paced]),
    [FIRST_TOKEN]: {
      targets: streaming,
      take: (target) => atRate(target, 'streamed', STREAM_RATE, seconds),
    },
  };
}

async function pauses(
  targets: readonly BenchTarget[],
  { rounds, pauseSeconds }: Effort,
): Promise<AfterPause[][]> {
  const found: AfterPause[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    found.push(await callAfterPause(targets, CALLS_IN_SEQUENCE, pauseSeconds * 1_000));
  }
  return found;
}

/** Measures Tollgate beside the proxies, Portkey and the durable floor. Throws when a call does not get the expected answer. */
export async function measureComparison(
  isQuick: boolean,
  onStep: (text: string) => void,
): Promise<BenchResult> {
  const effort = isQuick ? QUICK : FULL;
  const folder = ownTemporaryFolder('bench-chat');
  const upstream = await startUpstream(join(folder, 'upstream.log'));
  try {
    const comparison = await startComparison(folder, upstream);
    try {
      await warmUp(measuredTargets(comparison), effort.warmUpCalls, onStep);
      const found = await runRounds(measurementsOf(comparison, effort), effort.rounds, onStep);
      onStep('pauses');
      const ours = measuredTargets(comparison).filter(({ isForeign }) => !isForeign);
      const afterPause = await pauses(ours, effort);
      onStep('many streams at once');
      const streams = await crowd(comparison.tollgate, effort.streamsAtOnce, STREAMS_PER_SECOND);
      const result = resultOf(comparison, effort, found, [
        pauseTable(ours, afterPause, effort.pauseSeconds),
        crowdTable(effort.streamsAtOnce, STREAMS_PER_SECOND, streams),
      ]);
      const whole = `${streams.complete.toLocaleString('en')} of ${effort.streamsAtOnce.toLocaleString('en')}`;
      const crowded = `**${streams.atOnce.toLocaleString('en')}** streams at once, ${whole} complete.`;
      return { ...result, headlines: { ...result.headlines, 'chat-streams': crowded } };
    } finally {
      await comparison.stop();
    }
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function resultOf(
  comparison: Comparison,
  effort: Effort,
  found: Readonly<Record<string, Turns>>,
  others: BenchResult['tables'],
): BenchResult {
  const busiest = found[throughputName(128, 'instant')]!;
  const calm = found[rateName(200)]!;
  const named = (names: readonly string[]) => names.map((name) => [name, found[name]!] as const);
  const throughput = effort.connections.flatMap((connections) =>
    UPSTREAMS.map(([upstream]) => throughputName(connections, upstream)),
  );
  return {
    conditions: `Tollgate as \`npm start\` runs it (API, worker, Postgres with fsync on, Redis, rate limits that nobody reaches), one key. "durable floor" is node:http with the product's ledger classes, a Postgres of its own and nothing else: no rate limit, validation, log or metrics. The other three keep no books. Medians of ${effort.rounds} rounds of ${effort.seconds} s, [least–most], each target in turn. ${comparison.missing}${failuresOf(comparison, found)}`,
    tables: [
      throughputTable(comparison, named(throughput)),
      latencyTable(
        '**Latency at a fixed rate**, open loop, counted from when a call was due; upstream 10 ms.',
        comparison,
        named(effort.rates.map(rateName)),
      ),
      latencyTable(
        '**Time to the first token**, open loop; upstream 15 ms. Portkey fails these streams, and the floor has none.',
        comparison,
        named([FIRST_TOKEN]),
      ),
      processorTable(
        '**Processor time of a call** at 128 connections, upstream instant. The last two columns are no part of the target.',
        comparison,
        busiest,
      ),
      processorTable('**Processor time of a call** at 200/s, upstream 10 ms.', comparison, calm),
      ...others,
    ],
    headlines: headlinesOf(comparison, busiest, calm),
  };
}

/** Returns a sentence about the calls that Portkey failed; empty when it failed none. */
function failuresOf({ portkey }: Comparison, found: Readonly<Record<string, Turns>>): string {
  const turns = portkey ? Object.values(found).flatMap((measured) => measured.get(portkey) ?? []) : [];
  const errors = turns.flatMap((turn) => turn.errors);
  const calls = turns.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, errors.length);
  return errors.length === 0
    ? ''
    : `Portkey failed ${errors.length} of ${calls.toLocaleString('en')} calls, which are not in its figures (${errors[0]!.message}).`;
}

function headlinesOf(comparison: Comparison, busiest: Turns, calm: Turns): Record<string, string> {
  const { tollgate, express, node, floor, portkey } = comparison;
  const times = (other: BenchTarget) => `${spreadText(ratioOf(busiest, tollgate, other), 2)} ×`;
  const gateway = portkey ? ` ${times(portkey)} ${portkey.name}, which bills nothing;` : '';
  const processor = (turns: Turns) => spreadText(processorMsOf(turns, tollgate), 3);
  const added = (key: 'p50Ms' | 'p99Ms') => `+${spreadText(addedOf(calm, tollgate, node, key), 1)} ms`;
  return {
    'chat-throughput': `**${spreadText(throughputOf(busiest, tollgate))}** chat calls a second at 128 connections, each held and charged durably: ${times(express)} Express and ${times(node)} node:http as bare proxies;${gateway} ${times(floor)} the least that a call through the same ledger costs.`,
    'chat-latency': `**${added('p50Ms')}** at the median and ${added('p99Ms')} at the 99th percentile of 200 calls a second, on top of a bare proxy.`,
    'chat-processor': `**${processor(calm)} ms** of processor time of API, Postgres, Redis and worker for a call at 200 calls a second, ${processor(busiest)} ms at 128 connections.`,
  };
}
