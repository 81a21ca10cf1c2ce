import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';

/** Rate, errors and duration of the HTTP API, by route pattern and never by raw path, because the set of raw paths is unbounded. */
export interface HttpMetrics {
  started(): void;
  /** `durationMs` runs from the first byte in to the last byte out. */
  finished(route: string, method: string, status: number, durationMs: number): void;
}

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

export function createHttpMetrics(registry: Registry): HttpMetrics {
  const requests = new Counter({
    name: 'tollgate_http_requests_total',
    help: 'Finished requests by route, method and status',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Time from request to end of response',
    labelNames: ['route', 'method'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  const inFlight = new Gauge({
    name: 'tollgate_http_requests_in_flight',
    help: 'Requests whose response has not ended',
    registers: [registry],
  });
  return {
    started: () => inFlight.inc(),
    finished: (route, method, status, durationMs) => {
      inFlight.dec();
      requests.inc({ route, method, status });
      duration.observe({ route, method }, durationMs / 1000);
    },
  };
}
