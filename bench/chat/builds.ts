import { previousBuild } from '../../test/upgrade/previous-build.ts';
import { openAccounts } from '../measure/accounts.ts';
import type { BenchResult } from '../measure/result.ts';
import { spreadTextOf } from '../measure/spread.ts';
import { perSecond, processorMsIn, ratios, valuesOf } from './chat-tables.ts';
import { atRate, saturate, timingOf, warmUp } from './load.ts';
import { type Measurement, type MeteredTurn, runRounds, type Turns } from './rounds.ts';
import { type BenchTarget, productTarget, withProducts } from './targets.ts';

const CONNECTIONS = [32, 128];
const RATES = [200, 1_000];

/** The earlier build and the current one. */
type Builds = readonly [before: BenchTarget, present: BenchTarget];

/**
 * Compares an earlier build (a tag or commit, compiled in the user's cache) with this one. Each runs as its own installation, side by side,
 * and the two are called in turn. Throws like `previousBuild`, and an Error when a call is not answered.
 */
export async function measureBuilds(
  reference: string,
  isQuick: boolean,
  onStep: (text: string) => void,
): Promise<BenchResult> {
  const [rounds, seconds, warmUpCalls] = isQuick ? [3, 2, 4_000] : [9, 4, 40_000];
  onStep(`building ${reference}`);
  const { folder: build } = await previousBuild(reference, process.env);
  return await withProducts('builds', [{ build }, {}], async ({ products, upstream }) => {
    const [before, present] = await Promise.all(
      products.map(async (product, place) => {
        const keys = await openAccounts(product.url, product.adminToken, 1);
        return productTarget([reference, 'this build'][place]!, product, upstream, keys);
      }),
    );
    const builds: Builds = [before!, present!];
    await warmUp(builds, warmUpCalls, onStep);
    const found = await runRounds(measurementsOf(builds, seconds), rounds, onStep);
    return resultOf(builds, found, `Medians of ${rounds} rounds of ${seconds} s, [least–most]`);
  });
}

const saturatedName = (connections: number) => `${connections} connections, upstream instant`;
const pacedName = (rate: number) => `${rate.toLocaleString('en')}/s, upstream 10 ms`;

function measurementsOf(targets: Builds, seconds: number): Record<string, Measurement> {
  const saturated = CONNECTIONS.map((connections): [string, Measurement] => [
    saturatedName(connections),
    { targets, take: (target) => saturate(target, 'instant', connections, seconds) },
  ]);
  const paced = RATES.map((rate): [string, Measurement] => [
    pacedName(rate),
    { targets, take: (target) => atRate(target, 'plain', rate, seconds) },
  ]);
  return Object.fromEntries([...saturated, ...paced]);
}

function resultOf(
  [before, present]: Builds,
  found: Readonly<Record<string, Turns>>,
  rounds: string,
): BenchResult {
  const row = (figure: string, turns: Turns, read: (turn: MeteredTurn) => number, digits: number) => {
    const of = (target: BenchTarget) => spreadTextOf(valuesOf(turns, target, read), digits);
    return [figure, of(before), of(present), spreadTextOf(ratios(turns, present, before, read), 3)];
  };
  const saturated = CONNECTIONS.map(saturatedName);
  const paced = RATES.map(pacedName);
  return {
    conditions: `Two installations as \`npm start\` of each build runs them, beside each other, called in turn. ${rounds}.`,
    tables: [
      {
        title: '',
        rows: [
          ['', before.name, present.name, 'ratio of the same round'],
          ...saturated.map((name) => row(`calls/s, ${name}`, found[name]!, perSecond, 0)),
          ...paced.map((name) => row(`p50 in ms, ${name}`, found[name]!, (turn) => timingOf(turn).p50Ms, 2)),
          ...paced.map((name) => row(`p99 in ms, ${name}`, found[name]!, (turn) => timingOf(turn).p99Ms, 2)),
          ...[...saturated, ...paced].map((name) =>
            row(`ms of processor time a call, ${name}`, found[name]!, processorMsIn, 3),
          ),
        ],
      },
    ],
    headlines: {},
  };
}
