import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parsePublicId } from '../../src/lib/ids.ts';
import { NO_TRACING } from '../../src/lib/tracing.ts';
import { VERSION } from '../../src/lib/version.ts';
import { eventually } from '../factories/eventually.ts';
import { type Customer, createCustomer, orderImage } from './support/customer.ts';
import { type OperatorServer, request, startOperatorServer } from './support/operator-server.ts';
import { type OperatorWorker, startOperatorWorker } from './support/operator-worker.ts';
import { samplesOf } from './support/samples.ts';
import { parentName, startTraceCollector, type TraceCollector } from './support/trace-collector.ts';

const OPS = new URL('../../ops/', import.meta.url);

let collector: TraceCollector;
let server: OperatorServer;
let worker: OperatorWorker;
let who: Customer;
let task: string;

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

beforeAll(async () => {
  collector = await startTraceCollector();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  server = await startOperatorServer({ redisDatabase: 12, environment });
  worker = await startOperatorWorker({ ...server.environment, ...environment });
  who = await createCustomer(server);
  for (const stream of [false, true]) {
    const chat = await server.call('POST', '/api/v1/chat/completions', {
      token: who.secret,
      body: {
        model: 'tollgate/small',
        stream,
        messages: [{ role: 'user', content: 'a canary, said twice' }],
      },
      headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
    });
    expect(chat.status).toBe(200);
  }
  // the delivery is refused when it is attempted: this is an address of the machine itself
  const url = 'https://127.0.0.1/canary?token=canary';
  task = await orderImage(server, who, { extra: { webhook: { url } } });
  const done = [
    'tollgate_jobs_total{job="tasks.postprocess",outcome="advanced"}',
    'tollgate_chore_last_success_timestamp_seconds{chore="sweep-tasks"}',
  ];
  await eventually(
    async () => {
      const { worker: own } = await scrape();
      return done.every((name) => own.has(name));
    },
    30_000,
    'the end of the task and a first sweep',
  );
});

afterAll(async () => {
  await worker?.close();
  await server?.close();
  await collector?.close();
});

async function scrape(): Promise<{
  api: Map<string, number>;
  worker: Map<string, number>;
  names: Set<string>;
}> {
  const [api, own] = await Promise.all([
    server.call('GET', '/metrics'),
    request(`${worker.url}/metrics`, 'GET', { token: null }),
  ]);
  expect([api.status, own.status]).toEqual([200, 200]);
  const names = [...`${api.text}\n${own.text}`.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(
    ([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [String(name)],
  );
  return { api: samplesOf(api.text), worker: samplesOf(own.text), names: new Set(names) };
}

describe('metrics', () => {
  test.each([
    ['the dashboard', 'grafana/tollgate.json', 61],
    ['the alerts', 'prometheus/alerts.yaml', 21],
  ])('%s: every name in it is a metric of the service', async (_, path, queriesMin) => {
    const text = readFileSync(new URL(path, OPS), 'utf8');
    const parsed = path.endsWith('.json') ? JSON.parse(text) : parse(text);
    const queries: string[] = [];
    JSON.stringify(parsed, (key, value) => {
      if (key === 'expr') {
        queries.push(value);
      }
      return value;
    });
    expect(queries.length).toBeGreaterThanOrEqual(queriesMin);
    const used = new Set(
      queries.flatMap((query) => query.match(/\b(?:tollgate|nodejs|process)_[a-z0-9_]+/g) ?? []),
    );
    expect(used.size).toBeGreaterThan(15);
    const { names } = await scrape();
    expect([...used].filter((name) => !names.has(name))).toEqual([]);
  });

  test('every metric of ours is used on the dashboard or in an alert', async () => {
    const files = ['grafana/tollgate.json', 'prometheus/alerts.yaml'];
    const shown = files.map((path) => readFileSync(new URL(path, OPS), 'utf8')).join('\n');
    const { names } = await scrape();
    const ours = [...names]
      .filter((name) => name.startsWith('tollgate_'))
      .map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    expect([...new Set(ours)].filter((name) => !shown.includes(name))).toEqual([]);
  });

  test('counts the calls, tokens and money of recent work', async () => {
    const { api } = await scrape();
    expect(api.get('tollgate_provider_attempts_total{provider="builtin",outcome="ok"}')).toBe(2);
    expect(api.get('tollgate_provider_first_token_seconds_count{provider="builtin"}')).toBeGreaterThanOrEqual(
      1,
    );
    const rows = await server.db.database.money.query<{ input: string; output: string; charge: string }>(
      `SELECT sum(input_tokens) AS input, sum(output_tokens) AS output, sum(charge) AS charge FROM generations
        WHERE model = 'tollgate/small'`,
    );
    const [booked] = rows.rows;
    expect(api.get('tollgate_tokens_total{model="tollgate/small",kind="input"}')).toBe(Number(booked!.input));
    expect(api.get('tollgate_tokens_total{model="tollgate/small",kind="output"}')).toBe(
      Number(booked!.output),
    );
    expect(api.get('tollgate_settled_usd_total{model="tollgate/small"}')).toBeCloseTo(
      Number(booked!.charge) / 1e9,
      12,
    );
    expect(
      api.get('tollgate_rate_limit_decisions_total{decision="allowed",store="shared"}'),
    ).toBeGreaterThanOrEqual(3);
    expect(api.get('tollgate_state_readable')).toBe(1);
    expect(api.get('tollgate_database_connections{pool="money",state="total"}')).toBeGreaterThan(0);
    expect(api.get(`tollgate_build_info{version="${VERSION}",node="${process.version}"}`)).toBe(1);
  });

  test('tasks: wait, run and finish by engine, jobs and chores of the worker', async () => {
    const { worker: own, api } = await scrape();
    expect(own.get('tollgate_task_queue_wait_seconds_count{pool="local"}')).toBe(1);
    expect(own.get('tollgate_task_run_seconds_count{engine="local",outcome="completed"}')).toBe(1);
    expect(own.get('tollgate_task_finish_seconds_count{kind="image",place="queue",outcome="settled"}')).toBe(
      1,
    );
    expect(own.get('tollgate_engine_run_seconds_count{pool="local",outcome="ok"}')).toBe(1);
    expect(own.get('tollgate_engine_ready{pool="local"}')).toBe(1);
    expect(own.get('tollgate_tasks_ended_total{engine="local",outcome="completed"}')).toBe(1);
    expect(own.get('tollgate_settled_usd_total{model="image-turbo"}')).toBeCloseTo(0.005, 12);
    expect(own.get('tollgate_jobs_total{job="tasks.generate",outcome="advanced"}')).toBe(1);
    expect(own.get('tollgate_jobs_active{queue="generate-local"}')).toBe(0);
    const lastSweep = own.get('tollgate_chore_last_success_timestamp_seconds{chore="sweep-tasks"}');
    expect(Date.now() / 1_000 - lastSweep!).toBeLessThan(30);
    expect(api.get('tollgate_worker_slots{queue="maintenance"}')).toBe(2);
  });

  test('with an unresponsive database the scrape still answers and the gauges have no value', async () => {
    const broken = await startOperatorServer({ redisDatabase: 12 });
    try {
      await broken.foundation.cells.sole.sequelize.close();
      const { status, text } = await broken.call('GET', '/metrics');
      const samples = samplesOf(text);
      expect([status, samples.get('tollgate_state_readable')]).toEqual([200, 0]);
      expect(samples.has('tollgate_webhooks_pending')).toBe(false);
    } finally {
      await broken.close();
    }
  });

  test('a media folder that is away is reported, and calls go on', async () => {
    const ready = async () => (await server.call('GET', '/readyz', { token: null })).json;
    const media = join(server.environment.DATA_DIR!, 'media');
    expect(await ready()).toMatchObject({ status: 'ready', optional: { storage: true } });
    await rename(media, `${media}.gone`);
    const isUsable = async (wanted: boolean) => (await ready()).optional.storage === wanted;
    await eventually(() => isUsable(false), 30_000, 'a report of the media folder');
    expect(await ready()).toMatchObject({ status: 'ready', optional: { redis: true, storage: false } });
    expect(samplesOf((await server.call('GET', '/metrics')).text).get('tollgate_storage_usable')).toBe(0);
    await rename(`${media}.gone`, media);
    await eventually(() => isUsable(true), 30_000, 'the media folder');
    expect(samplesOf((await server.call('GET', '/metrics')).text).get('tollgate_storage_usable')).toBe(1);
  });

  test('the page of a worker says that it is alive, and nothing else', async () => {
    const call = (method: string, path: string) => request(worker.url + path, method, { token: null });
    expect((await call('GET', '/healthz')).json).toEqual({ status: 'ok', version: VERSION });
    expect((await call('GET', '/readyz')).json).toEqual({ status: 'ready' });
    expect((await call('POST', '/healthz')).status).toBe(405);
    expect((await call('GET', '/env')).status).toBe(404);
  });
});

describe('traces', () => {
  test('one trace leads from the request through the queue to the engine, with ids only and no content', async () => {
    const order = 'POST /v3/async/image-turbo';
    // each process sends its spans at its own time
    const has = (wanted: string) => collector.spans.some(({ name }) => name === wanted);
    await eventually(
      async () => ['tasks.postprocess', 'task finish', 'ledger settle', order].every(has),
      30_000,
      'the spans of the order and of its task',
    );
    const { spans } = collector;
    const submit = spans.find(({ name }) => name === order)!;
    const ofTask = spans.filter(({ traceId }) => traceId === submit.traceId);
    const parentOf = (name: string) => parentName(ofTask, name);
    expect({
      reserve: parentOf('ledger reserve'),
      generate: parentOf('tasks.generate'),
      engine: parentOf('engine submit'),
      collect: parentOf('engine collect'),
      postprocess: parentOf('tasks.postprocess'),
      finish: parentOf('task finish'),
      settle: parentOf('ledger settle'),
    }).toEqual({
      reserve: 'POST /v3/async/image-turbo',
      generate: 'POST /v3/async/image-turbo',
      engine: 'tasks.generate',
      collect: 'tasks.generate',
      postprocess: 'POST /v3/async/image-turbo',
      finish: 'tasks.postprocess',
      settle: 'task finish',
    });
    const taskId = submit.attributes.find(({ key }) => key === 'tollgate.generation_id')?.value.stringValue;
    expect(taskId).toBe(task);
    const attributesOf = (name: string) =>
      Object.fromEntries(
        ofTask
          .find((span) => span.name === name)!
          .attributes.map(({ key, value }) => [key, value.stringValue]),
      );
    expect(attributesOf('ledger reserve')).toMatchObject({
      'tollgate.account_id': who.account,
      'tollgate.model': 'image-turbo',
    });
    expect(attributesOf('ledger settle')).toMatchObject({
      'tollgate.account_id': who.account,
      'tollgate.charge_usd': '0.005',
    });
    expect(collector.text()).not.toContain('canary');
    expect(collector.text()).not.toContain(who.secret);
  });

  test("a caller's trace continues through us to the provider", async () => {
    await eventually(
      async () => collector.spans.some(({ name }) => name === 'provider stream'),
      30_000,
      'the spans of the calls',
    );
    const names = collector.spans.filter(({ traceId }) => traceId === TRACE_ID).map(({ name }) => name);
    const provider = collector.spans.find(({ name }) => name === 'provider stream')!;
    expect(provider.attributes.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model']),
    );
    expect(names).toEqual(
      expect.arrayContaining([
        'POST /api/v1/chat/completions',
        'provider complete',
        'provider stream',
        'ledger settle',
      ]),
    );
  });

  test('without a collector tracing is off', async () => {
    const plain = await startOperatorServer({ redisDatabase: 12 });
    expect(plain.foundation.tracing).toBe(NO_TRACING);
    await plain.close();
  });
});

test('a job that an operator reruns from the board finds its task done: nothing is made or charged twice', async () => {
  const uuid = parsePublicId('generation', task);
  const before = (await server.call('GET', `/admin/v1/tasks/${task}`)).json.data;
  const skipped = 'tollgate_jobs_total{job="tasks.generate",outcome="skipped"}';
  // a busy machine may have announced the job twice, which is skipped as well
  const skippedRuns = async () => (await scrape()).worker.get(skipped) ?? 0;
  const skippedBefore = await skippedRuns();
  const path = `/admin/queues-rw/api/queues/generate-local/${uuid}-1/retry`;
  expect((await server.call('PUT', path)).status).toBe(204);
  await eventually(async () => (await skippedRuns()) > skippedBefore, 30_000, 'the second run of the job');
  expect((await server.call('GET', `/admin/v1/tasks/${task}`)).json.data).toEqual(before);
  const account = await server.call('GET', `/admin/v1/accounts/${who.account}`);
  expect(account.json.data.held).toBe('0.00');
});

test('the log has one line per request and per job, linked by ids and without content', async () => {
  const [requests, jobs] = [server.log.text, worker.log.text].map((text) =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line)),
  );
  const submitted = requests!.filter(({ msg, generationId }) => msg === 'request' && generationId === task);
  expect(submitted).toMatchObject([
    {
      requestId: expect.stringMatching(/^req_/),
      route: '/v3/async/image-turbo',
      status: 200,
      accountId: who.account,
      apiKeyHash: who.hash,
      client: '127.0.0.1',
      model: 'image-turbo',
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    },
  ]);
  const chats = requests!.filter(
    ({ msg, route }) => msg === 'request' && route === '/api/v1/chat/completions',
  );
  const called = {
    status: 200,
    accountId: who.account,
    apiKeyHash: who.hash,
    generationId: expect.stringMatching(/^gen-/),
    traceId: TRACE_ID,
    model: 'tollgate/small',
    provider: 'builtin',
    inputTokens: expect.any(Number),
    outputTokens: expect.any(Number),
    charge: expect.stringMatching(/^0\.\d+$/),
  };
  expect(chats).toMatchObject([called, called]);
  const refused = await server.call('POST', '/api/v1/chat/completions', {
    token: who.secret,
    body: { model: 'tollgate/smal', messages: [{ role: 'user', content: 'a canary' }] },
  });
  expect(refused.status).toBe(404);
  const line = await eventually(
    async () => server.log.text.split('\n').find((text) => text.includes('"code":"model_not_found"')),
    2_000,
    'the line of the refused call',
  );
  expect(JSON.parse(String(line))).toMatchObject({ msg: 'request', status: 404, model: 'tollgate/smal' });
  const { requestId } = submitted[0];
  const ran = jobs!.filter(({ msg, taskId }) => msg === 'job' && taskId === task);
  expect(ran.slice(0, 2)).toMatchObject([
    { job: 'tasks.generate', outcome: 'advanced', requestId, generationId: task },
    { job: 'tasks.postprocess', outcome: 'advanced', requestId, generationId: task },
  ]);
  expect(server.log.text + worker.log.text).not.toContain('canary');
});
