import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { GenerationsReadModel } from '../../src/generations/generations.read-model.ts';
import { publicId } from '../../src/lib/ids.ts';
import { presentChargeRecord } from '../../src/operators/lookup/charge-record.presenter.ts';
import { ChargeRecordReadModel } from '../../src/operators/lookup/charge-record.read-model.ts';
import { OperatorTasksReadModel } from '../../src/operators/operator-tasks.read-model.ts';
import { type Cells, oneCell } from '../../src/store/cells.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;
let cells: Cells;
let operator: OperatorTasksReadModel;

beforeAll(async () => {
  it = await TaskTest.open();
  cells = oneCell(it.database.database);
  operator = new OperatorTasksReadModel(cells);
});
afterAll(() => it?.close());

async function generationOf(id: string) {
  const { rows } = await it.pool.query(
    'SELECT provider, provider_cost, attempts FROM generations WHERE id = $1',
    [id],
  );
  return rows[0];
}

test('records an output as billed when a cancel precedes it, and no cost for a run that reports none', async () => {
  const { claims, endings } = it.stack;
  for (const cost of ['7', null]) {
    const id = await submitImage(it.stack, it.who, '');
    const task = await claims.claim(id, 'generating', 'test', 60_000);
    if (!task) {
      throw new Error('the task could not be claimed');
    }
    const run = { outputs: [], engineId: 'gpu', model: 'm', latencyMs: 3, cost };
    await claims.markGenerated(id, task.attempt, run, 0.9);
    await endings.cancel(task, { attempt: null, from: ['generated'] });
    expect(await generationOf(id)).toMatchObject({
      provider_cost: cost,
      attempts: cost === null ? [] : [{ provider: 'gpu', outcome: 'unused', cost }],
    });
  }
});

test('adds the costs of a billed run that fails and of the next one that succeeds', async () => {
  it.stack.start();
  const id = await submitImage(it.stack, it.who, 'flaky=1 bills');
  const waiting = await eventually(async () => {
    const row = await operator.find(id);
    return row?.failures === 1 ? row : undefined;
  });
  expect(waiting).toMatchObject({ provider_cost: '5', runs: [{ outcome: 'upstream_error', cost: '5' }] });
  await it.pool.query('UPDATE tasks SET not_before = clock_timestamp() WHERE id = $1', [id]);
  expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded' });
  expect(await generationOf(id)).toMatchObject({
    provider: 'gpu',
    provider_cost: '12',
    attempts: [
      { provider: 'gpu', outcome: 'upstream_error', cost: '5' },
      { provider: 'gpu', outcome: 'ok', cost: '7' },
    ],
  });
  const read = new ChargeRecordReadModel(cells, new GenerationsReadModel(cells));
  const record = await read.find(id, publicId('generation', id));
  const told = record && presentChargeRecord(record).attempts.map(({ cost }) => cost);
  expect(told).toEqual(['0.000000005', '0.000000007']);
  const history = await operator.history(id);
  expect(history.map(({ detail, cost }) => [detail, cost])).toContainEqual(['upstream_error', '5']);
  expect(await it.charges(id)).toEqual(['-5000000']);
});

test('records the billed cost of a run that ends its task by failing', async () => {
  const id = await submitImage(it.stack, it.who, 'fail=content_refused bills');
  await it.ended(id);
  expect(await generationOf(id)).toMatchObject({
    provider_cost: '5',
    attempts: [{ outcome: 'content_refused', cost: '5' }],
  });
});
