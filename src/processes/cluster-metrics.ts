import { Counter, Gauge, type Registry } from 'prom-client';

/** What the process that keeps the others measures: of how many that serve, and the count of those that ended unasked, which it returns. */
export function createClusterMetrics(registry: Registry, serving: () => number): Counter {
  new Gauge({
    name: 'tollgate_api_processes_serving',
    help: 'API processes behind this port that serve, of `API_PROCESSES`',
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
