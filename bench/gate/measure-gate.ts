import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { createDatabase } from '../../src/store/database.ts';
import { callTimes, saturate, warmUp } from '../chat/load.ts';
import { type MeteredTurn, runRounds, type Turns } from '../chat/rounds.ts';
import { type BenchTarget, productTarget, startProxy, type Upstream, withProducts } from '../chat/targets.ts';
import { openAccounts } from '../measure/accounts.ts';
import { Inspector } from '../measure/inspector.ts';
import { stopProcess } from '../measure/processes.ts';
import type { Product } from '../measure/product.ts';
import { sealAll } from '../measure/seal-all.ts';
import { spreadOf, spreadText } from '../measure/spread.ts';
import { DatabaseCounter, type DatabaseCounts } from './database-counts.ts';
import type { Figures } from './figures.ts';

const CROWD_CONNECTIONS = 128;
const ROUNDS = 3;
const WARM_UP_CALLS = 8_000;
/** Calls made one after the other by one client. They count what depends on the code alone: no batches, the same statements each time. */
const CALLS_IN_SEQUENCE = 200;
/** Enough that occasional work such as vacuum affects only a few of them. */
const SEQUENCES = 6;
/** The work of maintenance and the workers, measured without calls and subtracted. */
const IDLE_MS = 1_000;
const IDLE_ROUNDS = 6;
/** Longest delay before Postgres sessions report their fsyncs, in ms. */
const FSYNCS_TOLD_MS = 11_000;
/** Bytes between two sampled allocations: some ten thousand samples in 200 calls. */
const SAMPLING_BYTES = 4_096;
/** Retries while maintenance is sealing. Each waits a second, until Postgres gives up waiting for the lock. */
const SEAL_TRIES = 30;
const LOCK_TIMEOUT = '55P03';
const PARTS = ['API', 'Postgres', 'Redis', 'worker'];

interface Observed {
  readonly target: BenchTarget;
  readonly counter: DatabaseCounter;
  readonly inspector: Inspector;
}

interface Counted extends DatabaseCounts {
  readonly seconds: number;
  readonly allocatedBytes: number;
}

/** Measures a fresh installation. The short form takes less than a minute and leaves out the slow figures. */
export async function measureGate(isShort: boolean, onStep: (text: string) => void): Promise<Figures> {
  const port = await choosePort();
  const settings = { API_PROCESSES: '1' };
  const apiOptions = [`--inspect=127.0.0.1:${port}`];
  return await withProducts('gate', [{ settings, apiOptions }], ({ products, upstream, folder }) =>
    measureProduct(products[0]!, upstream, port, { folder, isShort, onStep }),
  );
}

async function measureProduct(
  product: Product,
  upstream: Upstream,
  port: number,
  { folder, isShort, onStep }: { folder: string; isShort: boolean; onStep: (text: string) => void },
): Promise<Figures> {
  const keys = await openAccounts(product.url, product.adminToken, 1);
  const target = productTarget('Tollgate', product, upstream, keys);
  const log = join(folder, 'processes.log');
  const node = await startProxy('node:http + undici', 'node-proxy.ts', log, upstream);
  const counter = await DatabaseCounter.open(product.ownerUrl, product.postgresLog);
  const inspector = await Inspector.connect(port);
  try {
    await warmUp([target, node.target], WARM_UP_CALLS, onStep);
    await callTimes(target, 'instant', 1, CALLS_IN_SEQUENCE);
    const crowd = await measureCrowd(target, node.target, counter, isShort ? 1.5 : 6, onStep);
    await sealLedger(product.databaseUrl);
    const sequence = await measureSequence({ target, counter, inspector }, isShort, onStep);
    return { ...crowd, ...sequence };
  } finally {
    inspector.close();
    await counter.close();
    await stopProcess(node.child);
  }
}

async function sealLedger(url: string): Promise<void> {
  const database = createDatabase({ url, moneyConnections: 1, connections: 1 }, () => undefined);
  const verifier = new LedgerVerifier(database.money);
  let tries = SEAL_TRIES;
  for (let isSealed = false; !isSealed; tries -= 1) {
    isSealed = await sealAll(verifier).then(
      () => true,
      (error: { code?: string }) => {
        if (error.code === LOCK_TIMEOUT && tries > 0) {
          return false;
        }
        throw error;
      },
    );
  }
  await database.close();
}

/** Measures the cost of many clients beside a bare proxy: a slow machine slows down both. */
async function measureCrowd(
  target: BenchTarget,
  node: BenchTarget,
  counter: DatabaseCounter,
  seconds: number,
  onStep: (text: string) => void,
): Promise<Figures> {
  const before = await counter.read();
  const take = (one: BenchTarget) => saturate(one, 'instant', CROWD_CONNECTIONS, seconds);
  const { crowd } = await runRounds({ crowd: { targets: [node, target], take } }, ROUNDS, onStep);
  const { walBytes } = await counter.read();
  const turns = crowd.get(target) ?? [];
  const calls = turns.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0);
  const ours = msPerCall(crowd, target, PARTS);
  const bare = msPerCall(crowd, node, ['own process']);
  return {
    processorRatio: spreadOf(ours.map((ms, round) => ms / bare[round]!)).median,
    crowdProcessorMs: spreadOf(ours).median,
    crowdWalBytes: (walBytes - before.walBytes) / calls,
  };
}

function msPerCall(turns: Turns, target: BenchTarget, parts: readonly string[]): number[] {
  const sum = ({ msPerCall: ms }: MeteredTurn) => parts.reduce((total, part) => total + (ms[part] ?? 0), 0);
  return (turns.get(target) ?? []).map(sum);
}

/** Measures the cost of calls made one after the other, in counts that are the same on every machine. */
async function measureSequence(
  observed: Observed,
  isShort: boolean,
  onStep: (text: string) => void,
): Promise<Figures> {
  const { target, counter } = observed;
  await counter.countStatements();
  onStep('without calls');
  const idle = await repeat(IDLE_ROUNDS, () => countWhile(observed, () => delay(IDLE_MS)));
  await delay(isShort ? 0 : FSYNCS_TOLD_MS);
  onStep('one call at a time');
  const fsyncsBefore = await counter.readFsyncs();
  const startedAt = performance.now();
  const busy = await repeat(SEQUENCES, () =>
    countWhile(observed, () => callTimes(target, 'instant', 1, CALLS_IN_SEQUENCE)),
  );
  const perCall = (read: (from: Counted) => number) => {
    const besides = spreadOf(idle.map((round) => read(round) / round.seconds)).median;
    return spreadOf(busy.map((round) => (read(round) - besides * round.seconds) / CALLS_IN_SEQUENCE));
  };
  const walBytes = perCall((counted) => counted.walBytes);
  onStep(`WAL bytes of a call: ${spreadText(walBytes)}`);
  return {
    // concurrent work such as vacuum can only increase the count
    statements: perCall((counted) => counted.statements).least,
    walBytes: walBytes.least,
    // an estimate that can be too high or too low
    allocatedBytes: perCall((counted) => counted.allocatedBytes).median,
    ...(!isShort && { walFsyncs: await fsyncsPerCall(counter, fsyncsBefore, startedAt) }),
  };
}

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let time = 0; time < times; time += 1) {
    results.push(await work());
  }
  return results;
}

/** Waits for Postgres to report, then subtracts the fsyncs that a pause without calls causes. */
async function fsyncsPerCall(counter: DatabaseCounter, before: number, startedAt: number): Promise<number> {
  await delay(FSYNCS_TOLD_MS);
  const after = await counter.readFsyncs();
  const seconds = (performance.now() - startedAt) / 1_000;
  await delay(FSYNCS_TOLD_MS);
  const idlePerSecond = ((await counter.readFsyncs()) - after) / (FSYNCS_TOLD_MS / 1_000);
  return (after - before - idlePerSecond * seconds) / (SEQUENCES * CALLS_IN_SEQUENCE);
}

async function countWhile({ counter, inspector }: Observed, work: () => Promise<unknown>): Promise<Counted> {
  await inspector.startSampling(SAMPLING_BYTES);
  const before = await counter.read();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await counter.read();
  return {
    seconds,
    statements: after.statements - before.statements,
    walBytes: after.walBytes - before.walBytes,
    allocatedBytes: await inspector.allocatedBytes(),
  };
}
