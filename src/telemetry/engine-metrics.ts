import { Counter, Gauge, type Registry } from 'prom-client';
import type { EngineSupervision } from '../engines/supervision/supervise-engines.ts';
import type { EngineRests } from '../tasks/engine-rests.ts';

/** Counts runs that failed on an engine, by why. */
export function createRunFailureCounter(registry: Registry): (pool: string, code: string) => void {
  const failures = new Counter({
    name: 'tollgate_engine_run_failures_total',
    help: 'Runs that failed or never began, by engine pool and code; a task may have several',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  return (pool, code) => failures.inc({ pool, code });
}

/** Counts starts of the servers that this worker runs itself, the first of each among them. */
export function createServerStartCounter(registry: Registry): (pool: string) => void {
  const starts = new Counter({
    name: 'tollgate_engine_server_starts_total',
    help: 'Starts of engine servers by this worker, the first ones and those after a crash',
    labelNames: ['pool'],
    registers: [registry],
  });
  return (pool) => starts.inc({ pool });
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

/** Whether this worker takes tasks for a pool: 0 while its engine is away. Only of pools that have been away since the start. */
export function registerEngineGauge(registry: Registry, rests: EngineRests): void {
  const ready = new Gauge({
    name: 'tollgate_engine_ready',
    help: 'Whether the engine of a pool answers this worker, which takes no task for it otherwise; set once it has been away',
    labelNames: ['pool'],
    registers: [registry],
  });
  rests.onChange((pool, isResting) => ready.set({ pool }, isResting ? 0 : 1));
}
