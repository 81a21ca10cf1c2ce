import { openAccounts } from '../measure/accounts.ts';
import type { Product } from '../measure/product.ts';
import type { BenchResult } from '../measure/result.ts';
import { spreadTextOf } from '../measure/spread.ts';
import { perSecond, processorMsIn, ratios, valuesOf } from './chat-tables.ts';
import { saturate, warmUp } from './load.ts';
import { type Measurement, type MeteredTurn, runRounds, type Turns } from './rounds.ts';
import { type BenchTarget, productTarget, type Upstream, withProducts } from './targets.ts';

const PROCESSES = [1, 2, 4];
const CONNECTIONS = [32, 128];
const ACCOUNTS = 64;

/** One installation, called with the key of one account (hot) and with those of many (spread). */
interface Installation {
  readonly processes: number;
  readonly hot: BenchTarget;
  readonly spread: BenchTarget;
}

async function targetsOf(processes: number, product: Product, upstream: Upstream): Promise<Installation> {
  const keys = await openAccounts(product.url, product.adminToken, ACCOUNTS);
  const name = `API_PROCESSES=${processes}`;
  return {
    processes,
    hot: productTarget(name, product, upstream, keys.slice(0, 1)),
    spread: productTarget(name, product, upstream, keys),
  };
}

/** Measures `API_PROCESSES` of 1, 2 and 4, each in its own installation beside the others, on one hot account and over many accounts. */
export async function measureProcesses(
  isQuick: boolean,
  onStep: (text: string) => void,
): Promise<BenchResult> {
  const [rounds, seconds, warmUpCalls] = isQuick ? [1, 2, 3_000] : [3, 8, 40_000];
  onStep(`starting ${PROCESSES.join(', ')}`);
  const options = PROCESSES.map((processes) => ({ settings: { API_PROCESSES: String(processes) } }));
  return await withProducts('processes', options, async ({ products, upstream }) => {
    const installations: Installation[] = [];
    for (const [place, product] of products.entries()) {
      installations.push(await targetsOf(PROCESSES[place]!, product, upstream));
    }
    const targets = installations.flatMap(({ hot, spread }) => [hot, spread]);
    await warmUp(targets, warmUpCalls, onStep);
    const found = await runRounds(measurementsOf(installations, seconds), rounds, onStep);
    return resultOf(installations, found, `Medians of ${rounds} rounds of ${seconds} s, [least–most]`);
  });
}

const PLACES = ['hot', 'spread'] as const;
const nameOf = (place: (typeof PLACES)[number], connections: number) =>
  `${place === 'hot' ? 'one account' : `${ACCOUNTS} accounts`}, ${connections} connections`;

function measurementsOf(
  installations: readonly Installation[],
  seconds: number,
): Record<string, Measurement> {
  const entries = PLACES.flatMap((place) =>
    CONNECTIONS.map((connections): [string, Measurement] => [
      nameOf(place, connections),
      {
        targets: installations.map((installation) => installation[place]),
        take: (target) => saturate(target, 'instant', connections, seconds),
      },
    ]),
  );
  return Object.fromEntries(entries);
}

function resultOf(
  installations: readonly Installation[],
  found: Readonly<Record<string, Turns>>,
  rounds: string,
): BenchResult {
  const tableOf = (title: string, read: (turn: MeteredTurn) => number, digits: number) => ({
    title,
    rows: [
      ['`API_PROCESSES`', ...installations.map(({ processes }) => String(processes)), '2 ÷ 1', '4 ÷ 1'],
      ...PLACES.flatMap((place) => CONNECTIONS.map((connections) => [place, connections] as const)).map(
        ([place, connections]) => {
          const turns = found[nameOf(place, connections)]!;
          const targets = installations.map((installation) => installation[place]);
          const [one, ...more] = targets as [BenchTarget, ...BenchTarget[]];
          return [
            nameOf(place, connections),
            ...targets.map((target) => spreadTextOf(valuesOf(turns, target, read), digits)),
            ...more.map((many) => spreadTextOf(ratios(turns, many, one, read), 2)),
          ];
        },
      ),
    ],
  });
  return {
    conditions: `Installations as \`npm start\` runs them, beside each other, called in turn; upstream instant, closed loop. ${rounds}; load, upstream, Postgres and Redis share the cores with the API.`,
    tables: [
      tableOf('**Calls per second**', perSecond, 0),
      tableOf('**Processor time of a call** in ms: API, Postgres, Redis and worker', processorMsIn, 3),
    ],
    headlines: {},
  };
}
