import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../factories/eventually.ts';
import { createCustomer, orderImage } from './support/customer.ts';
import { type OperatorServer, request, startOperatorServer } from './support/operator-server.ts';
import { type OperatorWorker, startOperatorWorker } from './support/operator-worker.ts';
import { samplesOf } from './support/samples.ts';
import { parentName, startTraceCollector, type TraceCollector } from './support/trace-collector.ts';

let collector: TraceCollector;
let server: OperatorServer;
let worker: OperatorWorker;

beforeAll(async () => {
  collector = await startTraceCollector();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  server = await startOperatorServer({ redisDatabase: 8, environment });
  worker = await startOperatorWorker({ ...server.environment, ...environment }, { postprocesses: true });
  await orderImage(server, await createCustomer(server));
});

afterAll(async () => {
  await worker?.close();
  await server?.close();
  await collector?.close();
});

async function scrape(): Promise<Map<string, number>> {
  return samplesOf((await request(`${worker.url}/metrics`, 'GET', { token: null })).text);
}

test('an image that is finished where it was made is measured with its outcome and needs no postprocessing job', async () => {
  const labels = 'kind="image",place="in_place",outcome="settled"';
  const count = `tollgate_task_finish_seconds_count{${labels}}`;
  await eventually(async () => (await scrape()).has(count), 30_000, 'the end of the task');
  const samples = await scrape();
  expect(samples.get(count)).toBe(1);
  expect(samples.get(`tollgate_task_finish_seconds_sum{${labels}}`)).toBeGreaterThan(0);
  expect([...samples.keys()].filter((name) => name.includes('tasks.postprocess'))).toEqual([]);
});

test('finishing is a span of the task, and the charge is its child', async () => {
  await eventually(
    async () => collector.spans.some(({ name }) => name === 'task finish'),
    30_000,
    'the spans of the task',
  );
  const submit = collector.spans.find(({ name }) => name === 'POST /v3/async/image-turbo')!;
  const ofTask = collector.spans.filter(({ traceId }) => traceId === submit.traceId);
  expect(['task finish', 'ledger settle'].map((name) => parentName(ofTask, name))).toEqual([
    'tasks.generate',
    'task finish',
  ]);
  const { attributes } = ofTask.find(({ name }) => name === 'task finish')!;
  expect(attributes).toEqual(
    expect.arrayContaining([
      { key: 'tollgate.place', value: { stringValue: 'in_place' } },
      { key: 'tollgate.outcome', value: { stringValue: 'settled' } },
    ]),
  );
});
