import { mkdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/lib/ids.ts';
import { MediaError } from '../../src/media/media-error.ts';
import type { Storage } from '../../src/media/storage.types.ts';
import { mediaNotFound, StorageError } from '../../src/media/storage-error.ts';
import { storeParameters } from '../../src/tasks/task-parameters.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { eventually } from '../factories/eventually.ts';
import { holdRequest, usd } from '../factories/ledger.ts';
import { ScriptedEngine, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { copyThrough } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const journals = temporaryFolder('journals');
const paidJournal = join(journals, 'paid');
const slowJournal = join(journals, 'slow');

let it: TaskTest;
let failingPuts = 0;
let lostFiles = 0;
let isStoreAway = false;
let mediaFailures: MediaError[] = [];

beforeAll(async () => {
  it = await TaskTest.open({
    wrapStorage: flaky,
    postprocess: async (job) => {
      const failure = mediaFailures.shift();
      if (failure) {
        throw failure;
      }
      return await copyThrough(job);
    },
    moreEngines: [
      new ScriptedEngine(paidJournal, { id: 'hosted', paid: true }),
      new ScriptedEngine(slowJournal, { id: 'slow', confirmsCancel: false }),
    ],
    runTimeoutMs: 400,
  });
  it.stack.start();
});

afterAll(async () => {
  await it?.close();
});

/** Storage whose next puts fail as often as the test asks. */
function flaky(storage: Storage): Storage {
  return {
    ...storage,
    getFile: async (key, path) => {
      if (lostFiles > 0) {
        lostFiles -= 1;
        throw mediaNotFound();
      }
      await storage.getFile(key, path);
    },
    putFile: async (key, path, mediaType) => {
      if (isStoreAway) {
        throw new StorageError('the store does not answer');
      }
      if (failingPuts > 0) {
        failingPuts -= 1;
        throw new Error('no space left');
      }
      return await storage.putFile(key, path, mediaType);
    },
  };
}

test('fails a refused prompt at once, free of charge, with the reason', async () => {
  const id = await submitImage(it.stack, it.who, 'fail=content_refused');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({
    state: 'failed',
    errorCode: 'content_refused',
    errorMessage: 'no',
    generationRuns: 1,
  });
  expect(await it.charges(id)).toEqual([]);
  expect(await it.openHolds()).toBe(0);
});

test('retries a transient failure with a fresh submit and charges the task once', async () => {
  const id = await submitImage(it.stack, it.who, 'flaky=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1 });
  expect(submitsOf(it.journal, id)).toEqual([1, 2]);
  expect(await it.charges(id)).toHaveLength(1);
});

test('loses only time while the storage is away: no failure, no second run, one charge', async () => {
  isStoreAway = true;
  const id = await submitImage(it.stack, it.who, 'run=1');
  await eventually(async () => submitsOf(it.journal, id).length === 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  isStoreAway = false;
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
});

test('loses only time while the media folder is not mounted', async () => {
  const media = join(it.folder, 'media');
  await rename(media, `${media}.gone`);
  await mkdir(media);
  const id = await submitImage(it.stack, it.who, 'run=1');
  await eventually(async () => submitsOf(it.journal, id).length === 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await rmdir(media);
  await rename(`${media}.gone`, media);
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
});

test('delays a task whose upstream asks for patience, without a failure, and lets others through', async () => {
  const id = await submitImage(it.stack, it.who, 'busy=900');
  const other = await it.ended(await submitImage(it.stack, it.who, 'run=1'));
  const { task } = await it.ended(id);
  expect([task, other.task]).toMatchObject(Array(2).fill({ state: 'succeeded', failures: 0 }));
  // the first run was refused
  expect(submitsOf(it.journal, id)).toEqual([2]);
  expect(other.task.completedAt!.getTime()).toBeLessThan(task.completedAt!.getTime());
});

test('ends a task at its fifth failed run, free of charge', async () => {
  const id = await taskOfNoPool('flaky=99');
  await it.pool.query("UPDATE tasks SET failures = 4, pool = 'gpu' WHERE id = $1", [id]);
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'failed', errorCode: 'upstream_unavailable' });
  expect(submitsOf(it.journal, id)).toHaveLength(1);
  expect(await it.charges(id)).toEqual([]);
});

test('does not run a task again that took its workers down too often', async () => {
  const id = await taskOfNoPool('run=1');
  await it.pool.query("UPDATE tasks SET interruptions = 10, pool = 'gpu' WHERE id = $1", [id]);
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'failed', errorCode: 'upstream_unavailable' });
  expect(submitsOf(it.journal, id)).toEqual([]);
});

test('stops an engine that takes too long and asks it again', async () => {
  const id = await submitImage(it.stack, it.who, 'run=60000');
  await eventually(async () => submitsOf(it.journal, id).length === 2);
  expect(await it.events(id)).toContain('queued engine_timeout');
  await it.stack.cancels.cancel(id, EVERY_TASK);
  const { task } = await it.ended(id);
  const timeouts = (await it.events(id)).filter((event) => event === 'queued engine_timeout');
  expect(task).toMatchObject({ state: 'canceled', failures: timeouts.length });
});

test('does not count a run that ends later because it was asked to stop after its time was up', async () => {
  const id = await taskOfNoPool('run=60000');
  await it.pool.query("UPDATE tasks SET pool = 'slow' WHERE id = $1", [id]);
  await eventually(async () => submitsOf(slowJournal, id).length === 2);
  await it.stack.cancels.cancel(id, EVERY_TASK);
  const { task } = await it.ended(id);
  const events = await it.events(id);
  const timeouts = events.filter((event) => event === 'queued engine_timeout');
  expect(events).toContain('queued upstream_canceled');
  expect(task).toMatchObject({ state: 'canceled', failures: timeouts.length });
});

test('requeues a task when the storage fails while raw output is stored', async () => {
  failingPuts = 1;
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1 });
  expect(await it.charges(id)).toHaveLength(1);
});

test('processes media that a retry may save again without a second run', async () => {
  mediaFailures = [new MediaError('media_tool_stalled', 'stalled')];
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1 });
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.events(id)).toContain('generated media_tool_stalled');
});

test('has a free engine make a file that cannot be decoded again, and charges once', async () => {
  mediaFailures = [new MediaError('media_corrupt', 'cut off')];
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1, generationRuns: 2 });
  expect(submitsOf(it.journal, id)).toEqual([1, 3]);
  expect(await it.events(id)).toContain('queued media_corrupt');
  expect(await it.charges(id)).toHaveLength(1);
  expect(await it.stack.storage.stat(`raw/${id}/1/0.png`)).toBeUndefined();
  const { rows } = await it.pool.query('SELECT provider_cost FROM generations WHERE id = $1', [id]);
  // a run costs its operator 7
  expect(rows).toEqual([{ provider_cost: '14' }]);
});

test('downloads the file of a paid run once more when it cannot be decoded, and charges once', async () => {
  mediaFailures = [new MediaError('media_corrupt', 'cut off')];
  const { id, task } = await endOfPaid();
  expect(task).toMatchObject({ state: 'succeeded', failures: 0, generationRuns: 1 });
  expect(await it.events(id)).toContain('queued media_corrupt');
  expect(await it.charges(id)).toHaveLength(1);
  const { rows } = await it.pool.query('SELECT provider_cost FROM generations WHERE id = $1', [id]);
  expect(rows).toEqual([{ provider_cost: '7' }]);
  expect(await it.stack.storage.stat(`raw/${id}/1/0.png`)).toBeUndefined();
});

test('downloads the file of a paid run once more when it is missing, as after a restore, and charges once', async () => {
  lostFiles = 1;
  const { id, task } = await endOfPaid();
  expect(task).toMatchObject({ state: 'succeeded', failures: 0, generationRuns: 1 });
  expect(await it.events(id)).toContain('queued media_not_found');
  expect(await it.charges(id)).toHaveLength(1);
});

test('has a free engine make a file that is missing again', async () => {
  lostFiles = 1;
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1, generationRuns: 2 });
  expect(await it.charges(id)).toHaveLength(1);
});

test('ends a task whose file from a paid engine is broken in itself: another run would be paid again', async () => {
  mediaFailures = [new MediaError('media_corrupt', 'broken'), new MediaError('media_corrupt', 'broken')];
  const { id, task } = await endOfPaid();
  expect(task).toMatchObject({ state: 'failed', errorCode: 'media_corrupt', failures: 0, generationRuns: 1 });
  expect(await it.charges(id)).toEqual([]);
});

async function endOfPaid() {
  const id = await taskOfNoPool('run=1');
  await it.pool.query("UPDATE tasks SET pool = 'hosted' WHERE id = $1", [id]);
  const ended = await it.ended(id);
  expect(submitsOf(paidJournal, id)).toHaveLength(1);
  return { id, ...ended };
}

test('ends a task whose media is refused, free of charge, and deletes the raw file', async () => {
  mediaFailures = [new MediaError('media_type_refused', 'html')];
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'failed', errorCode: 'media_type_refused' });
  expect(await it.charges(id)).toEqual([]);
  await eventually(async () => (await it.stack.storage.stat(`raw/${id}/1/0.png`)) === undefined);
});

test('fails a task whose engine is not configured here, free of charge', async () => {
  const id = await taskOfNoPool('run=1');
  await it.stack.services.generate.run(id, new AbortController().signal);
  expect((await it.ended(id)).task).toMatchObject({ state: 'failed', errorCode: 'upstream_unavailable' });
});

test('fails a task past its deadline, waiting or running', async () => {
  const waiting = await submitImage(it.stack, it.who, 'run=1');
  await it.pool.query(
    "UPDATE tasks SET pool = 'nobody', deadline_at = clock_timestamp() - interval '1 s' WHERE id = $1",
    [waiting],
  );
  await it.stack.services.sweeps.sweep();
  expect((await it.ended(waiting)).task).toMatchObject({ state: 'failed', errorCode: 'deadline_exceeded' });
  const running = await submitImage(it.stack, it.who, 'run=60000');
  await it.pool.query("UPDATE tasks SET deadline_at = clock_timestamp() + interval '200 ms' WHERE id = $1", [
    running,
  ]);
  expect((await it.ended(running)).task).toMatchObject({ state: 'failed', errorCode: 'deadline_exceeded' });
  expect(await it.charges(running)).toEqual([]);
});

/** Creates a queued task of a pool that no relay feeds, so nothing claims it before the test is set up. */
async function taskOfNoPool(prompt: string): Promise<string> {
  const id = newUuid();
  const parameters = storeParameters({
    prompt,
    width: 512,
    height: 512,
    steps: undefined,
    seconds: undefined,
    upstreamModel: 'z-image-turbo',
    base64Output: false,
    chargeLines: { image: usd('0.005') },
  });
  const deadlineMs = 60_000;
  const task = {
    kind: 'image',
    pool: 'gone',
    parameters,
    seed: 42n,
    webhookUrl: null,
    deadlineMs,
  } as const;
  await it.stack.ledger.reserve(holdRequest(it.who, usd('0.005'), { id, task }));
  return id;
}
