import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { bytesByOwner } from './heap-owners.ts';
import { readAll } from './probes.ts';
import { PROMPT_MARKER } from './prompts.ts';
import { ownersTable, reportOf, type Sample, type SoakRun } from './report.ts';
import { type SoakServices, type SoakStack, startServices, startStack } from './stack.ts';
import { Traffic } from './traffic.ts';

/**
 * `npm run soak [minutes]`: mixed traffic on real processes at 65 % of their capacity, with prompts that never repeat. Samples everything
 * that might grow, and what holds the heaps at the start and at the end.
 */
const MINUTES = Number(process.argv.find((argument) => /^\d+(\.\d+)?$/.test(argument)) ?? 60);
const LOAD_SHARE = 0.65;
const WARM_UP_MS = Math.min(60_000, MINUTES * 10_000);
const WARM_UP_CLIENTS = 16;
const CLIENTS_MAX = 200;
const SAMPLE_MS = Math.min(15_000, MINUTES * 2_000);
/** The heaps are garbage-collected before every so many samples. */
const COLLECTED_EVERY = 4;
/** Minimum minutes for a report; a shorter run is for a quick look, not for figures to quote. */
const REPORTED_MINUTES = 60;
const REPORT = fileURLToPath(new URL('../../docs/soak.md', import.meta.url));
const IDLE_MS = Math.min(120_000, MINUTES * 20_000);

/** Runs closed-loop customers. Returns the carried calls per second of the second half. */
async function warmUp(traffic: Traffic): Promise<number> {
  const until = performance.now() + WARM_UP_MS;
  const half = performance.now() + WARM_UP_MS / 2;
  let callsAtHalf = 0;
  const client = async () => {
    while (performance.now() < until) {
      await traffic.one();
      if (callsAtHalf === 0 && performance.now() > half) {
        callsAtHalf = traffic.calls.carried;
      }
    }
  };
  await Promise.all(Array.from({ length: WARM_UP_CLIENTS }, client));
  return ((traffic.calls.carried - callsAtHalf) * 2_000) / WARM_UP_MS;
}

async function carryTraffic(traffic: Traffic, stack: SoakStack, perSecond: number) {
  const samples: Sample[] = [];
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  const callsBefore = traffic.calls.made;
  const end = startedAt + MINUTES * 60_000;
  let [sent, skipped] = [0, 0];
  const send = () => {
    const due = ((performance.now() - startedAt) / 1_000) * perSecond;
    for (; sent < due; sent += 1) {
      if (running.size >= CLIENTS_MAX) {
        skipped += 1;
        continue;
      }
      const call = traffic.one().finally(() => running.delete(call));
      running.add(call);
    }
  };
  const timer = setInterval(send, 5);
  for (let number = 1; performance.now() < end; number += 1) {
    await delay(Math.max(0, Math.min(end, startedAt + number * SAMPLE_MS) - performance.now()));
    const readings = await readAll(stack, number % COLLECTED_EVERY === 0);
    const chatMs = traffic.chatLatenciesMs.splice(0);
    const seconds = (performance.now() - startedAt) / 1_000;
    const calls = traffic.calls.made - callsBefore;
    samples.push({ seconds, calls, readings, chatMs });
    process.stderr.write(
      `${seconds.toFixed(0)} s, ${calls} calls, API ${Math.round(readings['api rss']! / 1e6)} MB\n`,
    );
  }
  clearInterval(timer);
  await Promise.all(running);
  return { samples, skipped };
}

async function soak(results: string): Promise<SoakRun> {
  const services = await startServices();
  try {
    await snapshotOfStart(services, results);
    const stack = await startStack(services);
    const traffic = new Traffic(stack.traffic);
    const capacity = await warmUp(traffic);
    const perSecond = capacity * LOAD_SHARE;
    process.stderr.write(`capacity ${capacity.toFixed(0)}/s, soaking at ${perSecond.toFixed(0)}/s\n`);
    await delay(IDLE_MS / 2);
    const base = await readAll(stack, true);
    traffic.calls.statuses.clear();
    const { samples, skipped } = await carryTraffic(traffic, stack, perSecond);
    await traffic.calls.close();
    await delay(IDLE_MS);
    const after = await readAll(stack, true);
    await writeSnapshots(stack, results, 'end');
    await stack.stop();
    const statuses = Object.fromEntries(
      [...traffic.calls.statuses].map(([status, count]) => [String(status), count]),
    );
    return { minutes: MINUTES, perSecond, capacity, skipped, base, samples, after, statuses };
  } finally {
    await services.stop();
  }
}

/** A snapshot enlarges its process for good, so this one is taken from other processes than the measured ones. */
async function snapshotOfStart(services: SoakServices, results: string): Promise<void> {
  const stack = await startStack(services);
  const traffic = new Traffic(stack.traffic);
  await warmUp(traffic);
  await traffic.calls.close();
  await writeSnapshots(stack, results, 'start');
  await stack.stop();
}

async function writeSnapshots(stack: SoakStack, results: string, when: 'start' | 'end'): Promise<void> {
  for (const { name, inspector } of stack.processes) {
    await inspector.writeSnapshot(snapshotFile(results, name, when));
  }
}

/** Counts the prompts in a heap snapshot. */
function promptsIn(file: string): number {
  return readFileSync(file, 'utf8').split(PROMPT_MARKER).length - 1;
}

function snapshotFile(results: string, name: string, when: 'start' | 'end'): string {
  return join(results, `${name}-${when}.heapsnapshot`);
}

const results = ownTemporaryFolder('bench-soak-result');
const run = await soak(results);
writeFileSync(join(results, 'run.json'), JSON.stringify(run));
const owners = (['api', 'worker'] as const).map((name) =>
  ownersTable(
    name,
    bytesByOwner(snapshotFile(results, name, 'start')),
    bytesByOwner(snapshotFile(results, name, 'end')),
  ),
);
const prompts = (['api', 'worker'] as const).map((name) => promptsIn(snapshotFile(results, name, 'end')));
const { markdown, failures } = reportOf(run, owners, prompts[0]! + prompts[1]!);
process.stdout.write(markdown);
process.stderr.write(`samples and heap snapshots: ${results}\n`);
if (MINUTES >= REPORTED_MINUTES) {
  writeFileSync(REPORT, markdown);
}
if (failures.length > 0) {
  process.stderr.write(`Grows without end: ${failures.join(', ')}\n`);
  process.exitCode = 1;
}
