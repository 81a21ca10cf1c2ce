import { Counter, Gauge, type Registry } from 'prom-client';
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
