import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { EnginePools } from '../engines/engine.types.ts';
import type { GpuMemory } from '../engines/gpu-slots.ts';
import type { EngineSupervision } from '../engines/supervision/supervise-engines.ts';
import type { EngineRests } from '../tasks/engine-rests.ts';

const RUN_SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200];
/** Ms an engine has to say how full its memory is: a scrape waits for it. */
const MEMORY_MS = 2_000;
const MIB = 1_048_576;

/** Called after each run on an engine: `ok`, or why it failed. */
type RunObserver = (pool: string, outcome: string, durationMs: number) => void;

/** Times the runs on this host's engines, and counts those that failed by why. */
export function createRunMetrics(registry: Registry): RunObserver {
  const failures = new Counter({
    name: 'tollgate_engine_run_failures_total',
    help: 'Runs that failed or never began, by engine pool and code; a task may have several',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'tollgate_engine_run_seconds',
    help: 'Time of a run on an engine of this worker, from the claim to its files or its failure',
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

/** Counts starts of the servers that this worker runs itself, the first of each among them. `gpu`: its index, or `none`. */
export function createServerStartCounter(
  registry: Registry,
): (pool: string, gpu: number | undefined) => void {
  const starts = new Counter({
    name: 'tollgate_engine_server_starts_total',
    help: 'Starts of engine servers by this worker, the first ones and those after a crash',
    labelNames: ['pool', 'gpu'],
    registers: [registry],
  });
  return (pool, gpu) => starts.inc({ pool, gpu: gpu ?? 'none' });
}

/** The servers that this worker runs itself: how many there are, and how many can take work. */
export function registerServerGauge(
  registry: Registry,
  supervision: Pick<EngineSupervision, 'pools' | 'status'>,
): void {
  new Gauge({
    name: 'tollgate_engine_servers',
    help: 'Engine servers that this worker runs, by whether they can take work',
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

/** Whether this worker takes tasks for each pool that it serves, and how full the memory behind it is where the engine says so. */
export function registerEngineGauges(
  registry: Registry,
  engines: EnginePools,
  rests: Pick<EngineRests, 'served' | 'isResting'>,
): void {
  new Gauge({
    name: 'tollgate_engine_ready',
    help: 'Whether this worker takes tasks for a pool: 0 while its engine does not answer, or refuses everything',
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
    help: 'Memory of the devices behind an engine, as the engine reports it: used by anybody, and in total',
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

/** How full the GPUs of this host are, where a driver's program says so. */
export function registerGpuGauge(registry: Registry, readMemory: () => Promise<readonly GpuMemory[]>): void {
  new Gauge({
    name: 'tollgate_gpu_memory_bytes',
    help: 'Memory of the GPUs of this host: used by anybody, and in total',
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
  // one that does not say has no sample; that it does not answer is told by tollgate_engine_ready
  return (
    (await engines
      .find(pool)
      ?.readMemory?.(AbortSignal.timeout(MEMORY_MS))
      .catch(() => [])) ?? []
  );
}
