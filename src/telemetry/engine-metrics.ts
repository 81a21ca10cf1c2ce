import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { EnginePools } from '../engines/engine.types.ts';
import type { GpuMemory } from '../engines/gpu-slots.ts';
import type { EngineSupervision } from '../engines/supervision/supervise-engines.ts';
import type { EngineRests } from '../tasks/engine-rests.ts';

const RUN_SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200];
/** Timeout of an engine's memory report, in ms: a scrape waits for it. */
const MEMORY_MS = 2_000;
const MIB = 1_048_576;

/** Called after each run on an engine. `outcome`: `ok`, or the code of the failure. */
type RunObserver = (pool: string, outcome: string, durationMs: number) => void;

/** Creates the metrics of runs on this host's engines: their duration, and failures by code. */
export function createRunMetrics(registry: Registry): RunObserver {
  const failures = new Counter({
    name: 'tollgate_engine_run_failures_total',
    help: 'Runs that failed or never started, by engine pool and code; a task may have several',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'tollgate_engine_run_seconds',
    help: 'Duration of a run on an engine of this worker, from the claim to its files or its failure',
    labelNames: ['pool', 'outcome'],
    buckets: RUN_SECONDS,
    registers: [registry],
  });
  return (pool, outcome, durationMs) => {
    const isFine = outcome === 'ok';
    if (!isFine) {
      failures.inc({ pool, code: outcome });
    }
    seconds.observe({ pool, outcome: isFine ? outcome : 'failed' }, durationMs / 1_000);
  };
}

/** Counts starts of the servers that this worker runs itself, including the first of each. Label `gpu`: the GPU's index, or `none`. */
export function createServerStartCounter(
  registry: Registry,
): (pool: string, gpu: number | undefined) => void {
  const starts = new Counter({
    name: 'tollgate_engine_server_starts_total',
    help: 'Starts of engine servers by this worker, including restarts after a crash',
    labelNames: ['pool', 'gpu'],
    registers: [registry],
  });
  return (pool, gpu) => starts.inc({ pool, gpu: gpu ?? 'none' });
}

/** Registers the gauge of servers that this worker runs itself: how many can take work, and how many are still starting. */
export function registerServerGauge(
  registry: Registry,
  supervision: Pick<EngineSupervision, 'pools' | 'status'>,
): void {
  new Gauge({
    name: 'tollgate_engine_servers',
    help: 'Engine servers that this worker runs: ready for work, or starting',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const pool of supervision.pools) {
        const { servers, ready } = supervision.status(pool);
        this.set({ pool, state: 'ready' }, ready);
        this.set({ pool, state: 'starting' }, servers - ready);
      }
    },
  });
}

/** Registers the gauges of each pool this worker serves: whether it takes tasks, and the memory that its engine reports. */
export function registerEngineGauges(
  registry: Registry,
  engines: EnginePools,
  rests: Pick<EngineRests, 'served' | 'isResting'>,
): void {
  new Gauge({
    name: 'tollgate_engine_ready',
    help: 'Whether this worker takes tasks for a pool: 0 while its engine does not answer or rejects everything',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      this.reset();
      for (const pool of rests.served) {
        this.set({ pool }, rests.isResting(pool) ? 0 : 1);
      }
    },
  });
  new Gauge({
    name: 'tollgate_engine_memory_bytes',
    help: 'Memory of the devices behind an engine, as the engine reports it: used by any process, and in total',
    labelNames: ['pool', 'device', 'state'],
    registers: [registry],
    async collect() {
      const pools = rests.served.filter((pool) => !rests.isResting(pool));
      const known = await Promise.all(
        pools.map(async (pool) => ({ pool, devices: await memoryOf(engines, pool) })),
      );
      this.reset();
      for (const { pool, devices } of known) {
        for (const { device, totalBytes, freeBytes } of devices) {
          this.set({ pool, device, state: 'total' }, totalBytes);
          this.set({ pool, device, state: 'used' }, totalBytes - freeBytes);
        }
      }
    },
  });
}

/** Registers the gauge of GPU memory on this host, as the driver's tool reports it. */
export function registerGpuGauge(registry: Registry, readMemory: () => Promise<readonly GpuMemory[]>): void {
  new Gauge({
    name: 'tollgate_gpu_memory_bytes',
    help: 'Memory of the GPUs of this host: used by any process, and in total',
    labelNames: ['gpu', 'state'],
    registers: [registry],
    async collect() {
      const gpus = await readMemory();
      this.reset();
      for (const { index: gpu, usedMiB, totalMiB } of gpus) {
        this.set({ gpu, state: 'total' }, totalMiB * MIB);
        this.set({ gpu, state: 'used' }, usedMiB * MIB);
      }
    },
  });
}

async function memoryOf(engines: EnginePools, pool: string) {
  // an engine that does not report its memory has no sample; tollgate_engine_ready shows one that does not answer
  return (
    (await engines
      .find(pool)
      ?.readMemory?.(AbortSignal.timeout(MEMORY_MS))
      .catch(() => [])) ?? []
  );
}
