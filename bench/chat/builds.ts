import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { previousBuild } from '../../test/upgrade/previous-build.ts';
import { openAccounts } from '../measure/accounts.ts';
import type { Product } from '../measure/product.ts';
import type { BenchResult } from '../measure/result.ts';
import { spreadTextOf } from '../measure/spread.ts';
import { temporaryFolder } from '../measure/temporary-folder.ts';
import { processorMsIn } from './chat-tables.ts';
import { atRate, callTimes, saturate, timingOf } from './load.ts';
import { type Measurement, type MeteredTurn, runRounds, type Turns } from './rounds.ts';
import {
  type BenchTarget,
  productTarget,
  startChatProduct,
  startUpstream,
  type Upstream,
} from './targets.ts';

const WARM_UP_CONNECTIONS = 64;
const CONNECTIONS = [32, 128];
const RATES = [200, 1_000];

interface Builds {
  readonly before: BenchTarget;
  readonly present: BenchTarget;
  readonly products: readonly Product[];
}

/**
 * An earlier build (a tag or commit, compiled in the user's cache) and this one, each an installation of its own beside the other, called
 * in turn. Throws as `previousBuild` does, and an Error when a call is not answered.
 */
export async function measureBuilds(
  reference: string,
  isQuick: boolean,
  onStep: (text: string) => void,
): Promise<BenchResult> {
  const [rounds, seconds, warmUpCalls] = isQuick ? [3, 2, 4_000] : [9, 4, 40_000];
  onStep(`building ${reference}`);
  const { folder: build } = await previousBuild(reference, process.env);
  const folder = temporaryFolder('builds');
  const upstream = await startUpstream(join(folder, 'upstream.log'));
  try {
    const builds = await startBuilds(folder, upstream, reference, build);
    try {
      for (const target of [builds.before, builds.present]) {
        onStep(`warming up ${target.name}`);
        await callTimes(target, 'instant', WARM_UP_CONNECTIONS, warmUpCalls);
      }
      const found = await runRounds(measurementsOf(builds, seconds), rounds, onStep);
      return resultOf(builds, found, `Medians of ${rounds} rounds of ${seconds} s, [least–most]`);
    } finally {
      await Promise.all(builds.products.map((product) => product.stop()));
    }
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startBuilds(
  folder: string,
  upstream: Upstream,
  reference: string,
  build: string,
): Promise<Builds> {
  const former = await startChatProduct(join(folder, 'before'), upstream, { build });
  try {
    const latter = await startChatProduct(join(folder, 'present'), upstream);
    const targetOf = async (name: string, product: Product) =>
      productTarget(name, product, upstream, await openAccounts(product.url, product.adminToken, 1));
    return {
      before: await targetOf(reference, former),
      present: await targetOf('this build', latter),
      products: [former, latter],
    };
  } catch (error) {
    await former.stop();
    throw error;
  }
}

const saturatedName = (connections: number) => `${connections} connections, upstream instant`;
const pacedName = (rate: number) => `${rate.toLocaleString('en')}/s, upstream 10 ms`;

function measurementsOf({ before, present }: Builds, seconds: number): Record<string, Measurement> {
  const targets = [before, present];
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
  { before, present }: Builds,
  found: Readonly<Record<string, Turns>>,
  rounds: string,
): BenchResult {
  const row = (figure: string, turns: Turns, read: (turn: MeteredTurn) => number, digits: number) => {
    const [former, latter] = [before, present].map((target) => (turns.get(target) ?? []).map(read)) as [
      number[],
      number[],
    ];
    const ratios = latter.map((value, round) => value / former[round]!);
    return [figure, spreadTextOf(former, digits), spreadTextOf(latter, digits), spreadTextOf(ratios, 3)];
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
          ...saturated.map((name) =>
            row(`calls/s, ${name}`, found[name]!, (turn) => timingOf(turn).perSecond, 0),
          ),
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
