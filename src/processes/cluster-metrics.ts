import { Counter, Gauge, type Registry } from 'prom-client';

/** Creates the metrics of the primary process: a gauge of serving processes, and the counter of crashes, which it returns. */
export function createClusterMetrics(registry: Registry, serving: () => number): Counter {
  new Gauge({
    name: 'tollgate_api_processes_serving',
    help: 'API processes behind this port that are serving, out of `API_PROCESSES`',
    registers: [registry],
    collect() {
      this.set(serving());
    },
  });
  return new Counter({
    name: 'tollgate_api_process_crashes_total',
    help: 'API processes behind this port that ended unexpectedly and were restarted',
    registers: [registry],
  });
}
