import { join } from 'node:path';
import { createLogger } from '../../src/lib/logger.ts';
import type { Storage } from '../../src/media/storage.types.ts';
import { createDatabase } from '../../src/store/database.ts';
import { parseQueueSelection } from '../../workers/queue-selection.ts';
import { queuesServing, serveUntilStopped } from '../../workers/worker-process.ts';
import type { WorkerProcessOptions } from './spawn-task-worker.ts';
import { ScriptedEngine } from './task-engine.ts';
import { createTaskStack } from './task-stack.ts';

// A worker process as in production, on the scripted engine. The first argument contains its options as JSON.
const options = JSON.parse(process.argv[2] ?? '{}') as WorkerProcessOptions;
const database = createDatabase(
  { url: options.databaseUrl, moneyConnections: 8, connections: 2 },
  () => undefined,
);
/** Stores files, and dies right after the given number of finished files. */
function dyingAfter(files: number | undefined, storage: Storage): Storage['putFile'] {
  let left = files ?? Number.POSITIVE_INFINITY;
  return async (key, path, mediaType) => {
    const stored = await storage.putFile(key, path, mediaType);
    left -= key.startsWith('acct/') ? 1 : 0;
    if (left <= 0) {
      process.kill(process.pid, 'SIGKILL');
    }
    return stored;
  };
}

const stack = await createTaskStack({
  ...options,
  database,
  engine: new ScriptedEngine(join(options.folder, 'journal'), options.engine),
  wrapStorage: (storage) => ({ ...storage, putFile: dyingAfter(options.dieAfterFiles, storage) }),
  log: createLogger({ name: 'worker', level: process.env.TEST_LOG ?? 'silent' }),
});
const serving = queuesServing(
  stack,
  {
    redisUrl: options.redisUrl,
    prefix: options.prefix,
    drainMs: options.drainMs ?? 1_000,
    selection: parseQueueSelection(process.argv.slice(3)),
    workerName: `test.${process.pid}`,
  },
  async () => {
    await stack.close();
    await database.close();
  },
);
serveUntilStopped(serving, stack.log);
