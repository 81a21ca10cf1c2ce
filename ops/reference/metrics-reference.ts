import { Registry } from 'prom-client';
import { admitFairly } from '../../src/http/admission/fair-admission.ts';
import { UnauthenticatedConnections } from '../../src/http/admission/unauthenticated-connections.ts';
import { createHttpMetrics } from '../../src/http/http-metrics.ts';
import { WebSockets } from '../../src/http/web-sockets/web-sockets.ts';
import {
  createLaneObserver,
  registerCheckGauges,
  registerLedgerGauges,
} from '../../src/ledger/ledger-metrics.ts';
import { createClusterMetrics } from '../../src/processes/cluster-metrics.ts';
import { createQueueWaitHistogram } from '../../src/telemetry/claim-observer.ts';
import {
  createRunMetrics,
  createServerStartCounter,
  registerEngineGauges,
  registerGpuGauge,
  registerServerGauge,
} from '../../src/telemetry/engine-metrics.ts';
import { registerMarginGauges } from '../../src/telemetry/margin-gauges.ts';
import { observedFinisher } from '../../src/telemetry/observed-task-finisher.ts';
import {
  createRateMetrics,
  registerBuildInfo,
  registerDatabaseGauges,
  registerPoolGauges,
  registerRedisGauge,
  registerStorageGauge,
  registerStorageUsable,
} from '../../src/telemetry/process-gauges.ts';
import { createSettlementMetrics } from '../../src/telemetry/settlement-metrics.ts';
import { registerStateGauges } from '../../src/telemetry/state-gauges.ts';
import { createJobMetrics } from '../../workers/job-metrics.ts';
import { markdownTable } from './schema-table.ts';

/** Stands in for the sources of the metrics: they are described, never read. */
const nothing = new Proxy({}, { get: () => undefined }) as never;

/** Which processes have which metrics. The metrics are created by their own code, so that none is missing. */
const GROUPS: readonly (readonly [title: string, add: (registry: Registry) => void])[] = [
  [
    'HTTP',
    (registry) => {
      createHttpMetrics(registry);
      admitFairly({ ...(nothing as object), registry, routes: [] } as never);
      createRateMetrics(registry);
      new UnauthenticatedConnections({ ...(nothing as object), registry } as never);
      new WebSockets({ ...(nothing as object), registry, routes: [] } as never);
    },
  ],
  [
    'Calls and money',
    (registry) => {
      createSettlementMetrics(registry);
      registerMarginGauges(registry, nothing);
    },
  ],
  [
    'Ledger',
    (registry) => {
      createLaneObserver(registry, nothing);
      registerCheckGauges(registry, nothing);
      registerLedgerGauges(registry, nothing);
    },
  ],
  [
    'Tasks and jobs',
    (registry) => {
      createQueueWaitHistogram(registry);
      observedFinisher(nothing, registry, nothing);
      createJobMetrics(registry);
      registerStorageGauge(registry, nothing);
    },
  ],
  [
    'Engines, at each worker',
    (registry) => {
      createRunMetrics(registry);
      createServerStartCounter(registry);
      registerServerGauge(registry, nothing);
      registerEngineGauges(registry, nothing, nothing);
      registerGpuGauge(registry, nothing);
    },
  ],
  ['The installation, the same from every API process', (registry) => registerStateGauges(registry, nothing)],
  [
    'The process',
    (registry) => {
      registerBuildInfo(registry);
      registerPoolGauges(registry, nothing);
      registerDatabaseGauges(registry, nothing);
      registerRedisGauge(registry, nothing);
      registerStorageUsable(registry, nothing);
    },
  ],
  [
    'Several API processes behind one port, with `API_PROCESSES` above 1',
    (registry) => void createClusterMetrics(registry, nothing),
  ],
];

const HEAD = `# Metrics

\`npm run generate\` writes this page from the metrics themselves. Every process serves \`/metrics\` in Prometheus format, the API on its port, a
worker on \`WORKER_PORT\`: open to private networks, elsewhere with the operator token. Names end in their unit. No label contains a key, an
account or an address, so the number of series is bounded by routes, models, providers and pools. Where several API processes share a port,
one scrape returns the metrics of all of them, each line with the label \`process\` (1, 2, …), as if they were several hosts. Nothing is summed,
so a restarted process does not reset the counters of the others. A process that does not respond within a second is left out. In addition
there are Node's own \`process_*\` and \`nodejs_*\`. What to watch: [watching](../watching.md); the rules: \`ops/prometheus/alerts.yaml\`; a
dashboard: \`ops/grafana/tollgate.json\`.
`;

/** Returns the names of all our metrics. */
export function metricNames(): string[] {
  return GROUPS.flatMap(([, add]) => described(add).map(({ name }) => name));
}

/** Returns every metric as a page of the docs. */
export function metricsReference(): string {
  const sections = GROUPS.map(([title, add]) => {
    const rows = described(add).map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]);
    return `\n## ${title}\n\n${markdownTable(['Metric', 'Type', 'Labels', ''], rows)}\n`;
  });
  return `${HEAD}${sections.join('')}`;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}

function described(add: (registry: Registry) => void): Described[] {
  const registry = new Registry();
  add(registry);
  const metrics = registry.getMetricsAsArray() as unknown as (Omit<Described, 'type' | 'labels'> & {
    readonly labelNames: readonly string[];
  })[];
  return metrics.map((metric) => ({
    name: metric.name,
    help: metric.help,
    type: metric.constructor.name.toLowerCase(),
    labels: metric.labelNames.filter((label) => label !== 'le'),
  }));
}
