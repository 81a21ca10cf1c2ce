import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { mergeMetrics } from './merge-metrics.ts';

function registryOf(process: string, count: number): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  new Counter({ name: 'calls_total', help: 'Calls', labelNames: ['route'], registers: [registry] }).inc(
    { route: '/a' },
    count,
  );
  new Histogram({ name: 'seconds', help: 'Seconds', buckets: [1], registers: [registry] }).observe(count);
  return registry;
}

test('groups the lines of a metric, distinguished by their process', async () => {
  const keeper = new Registry();
  new Gauge({ name: 'serving', help: 'Serving', registers: [keeper] }).set(2);
  const registries = [keeper, registryOf('1', 3), registryOf('2', 4)];
  const merged = mergeMetrics(await Promise.all(registries.map((registry) => registry.metrics())));
  expect(merged).toBe(`# HELP serving Serving
# TYPE serving gauge
serving 2

# HELP calls_total Calls
# TYPE calls_total counter
calls_total{route="/a",process="1"} 3
calls_total{route="/a",process="2"} 4

# HELP seconds Seconds
# TYPE seconds histogram
seconds_bucket{le="1",process="1"} 0
seconds_bucket{le="+Inf",process="1"} 1
seconds_sum{process="1"} 3
seconds_count{process="1"} 1
seconds_bucket{le="1",process="2"} 0
seconds_bucket{le="+Inf",process="2"} 1
seconds_sum{process="2"} 4
seconds_count{process="2"} 1
`);
});

test('skips registries without metrics', () => {
  expect(mergeMetrics(['\n', ''])).toBe('\n');
});
