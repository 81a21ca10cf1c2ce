import { join } from 'node:path';
import { createLogger } from '../../src/lib/logger.ts';
import { createDatabase } from '../../src/store/database.ts';
import { runWorkerProcess } from '../../workers/worker-process.ts';
import type { WorkerProcessOptions } from './spawn-task-worker.ts';
import { ScriptedEngine } from './task-engine.ts';
import { createTaskStack } from './task-stack.ts';

// A worker process as production runs it, on the scripted engine. Options come as JSON in the first argument.
const options = JSON.parse(process.argv[2] ?? '{}') as WorkerProcessOptions;
const database = createDatabase(
  { url: options.databaseUrl, moneyConnections: 8, connections: 2 },
  () => undefined,
);
const stack = await createTaskStack({
  ...options,
  database,
  engine: new ScriptedEngine(join(options.folder, 'journal'), options.engine),
  log: createLogger({ name: 'worker', level: process.env.TEST_LOG ?? 'silent' }),
});
runWorkerProcess(
  stack,
  { redisUrl: options.redisUrl, prefix: options.prefix, drainMs: options.drainMs ?? 1_000 },
  process.argv.slice(3),
  async () => {
    await stack.close();
    await database.close();
  },
);
