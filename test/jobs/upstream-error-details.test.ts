import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { UPSTREAM_SECRET } from '../factories/engine-server.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

const comfy = new ComfyUiServer();
let it: TaskTest;

beforeAll(async () => {
  await comfy.start();
  const workflow = {
    ...{ kind: 'image', file: 'tiny.json' },
    parameters: { prompt: '6.inputs.text', seed: '3.inputs.seed' },
  };
  const engine = comfyUiKind('test/engines/workflows').create({
    ...{ id: 'gpu', kind: 'comfyui', base_url: comfy.url, poll_interval_ms: 10 },
    workflows: { 'z-image-turbo': workflow },
  });
  it = await TaskTest.open({ redisDatabase: 12, engine });
  it.stack.start();
});

afterAll(async () => {
  await it?.close();
  await comfy.close();
});

async function wordsOf(id: string): Promise<{ detail: string; said: string }> {
  return await eventually(async () => {
    const { rows } = await it.pool.query(
      'SELECT detail, said FROM task_events WHERE task_id = $1 AND said IS NOT NULL',
      [id],
    );
    return rows[0];
  });
}

test('keeps a task waiting while the engine rejects its graph, and makes it once the operator has fixed it', async () => {
  comfy.reset('refuses_content');
  const id = await submitImage(it.stack, it.who, 'customer prompt');
  const { detail, said } = await wordsOf(id);
  expect(detail).toBe('upstream_misconfigured');
  expect(said).toContain('prompt_outputs_failed_validation');
  expect(said).toContain('[prompt] [key]');
  expect(said).not.toContain(UPSTREAM_SECRET);
  expect((await it.stack.reads.findTask(id, EVERY_TASK))?.completedAt).toBeNull();
  comfy.reset();
  await it.pool.query('UPDATE tasks SET not_before = clock_timestamp() WHERE id = $1', [id]);
  expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', failures: 1 });
});

test('records what the engine said of the last run on the generation, but shows none of it to the customer', async () => {
  comfy.reset('fails');
  const id = await submitImage(it.stack, it.who, 'a house');
  const result = await it.ended(id);
  const { rows } = await it.pool.query('SELECT attempts FROM generations WHERE id = $1', [id]);
  expect(rows[0].attempts[0].said).toContain('torch.OutOfMemoryError');
  expect(JSON.stringify([result.task.errorCode, result.task.errorMessage])).not.toContain('torch');
});

/** As many characters as fit before the length at which an engine's words are cut, with what stands before them. */
const UP_TO_THE_CUT = 'a'.repeat(1_999 - 'a node: torch.OutOfMemoryError: '.length);

test.each([
  ['NUL', 'a\0b'],
  ['half a character', 'a\ud83d'],
  ['a character that is cut', `${UP_TO_THE_CUT}😀`],
])('ends a task whose engine said %s, which no database can hold', async (_name, message) => {
  comfy.reset('fails');
  comfy.exceptionMessage = message;
  const id = await submitImage(it.stack, it.who, 'a house');
  const { task } = await it.ended(id);
  comfy.exceptionMessage = UPSTREAM_SECRET;
  expect(task).toMatchObject({ state: 'failed', errorCode: 'out_of_memory' });
  const { rows } = await it.pool.query('SELECT attempts FROM generations WHERE id = $1', [id]);
  expect(rows[0].attempts[0].said).toContain('�');
});
