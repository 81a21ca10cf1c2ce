import type { Redis } from 'ioredis';
import { createCancelPublisher } from '../../queues/cancel-channel.ts';
import type { Route } from '../http/route.ts';
import { CancelTaskService } from '../tasks/cancel-task.service.ts';
import { nativeTaskRoutes } from '../tasks/native-tasks.routes.ts';
import { openAiImageRoutes } from '../tasks/openai-images.routes.ts';
import { openAiVideoRoutes } from '../tasks/openai-videos.routes.ts';
import { requireWorkingPool } from '../tasks/require-working-pool.ts';
import { SubmitTaskService } from '../tasks/submit-task.service.ts';
import { taskRoutes } from '../tasks/tasks.routes.ts';
import { TasksService } from '../tasks/tasks.service.ts';
import type { CancelablePools } from '../tasks/tasks.types.ts';
import { UnservedPools } from '../tasks/unserved-pools.ts';
import { WorkersStore } from '../tasks/workers.store.ts';
import { alertRoutes } from '../webhooks/alerts.routes.ts';
import { webhookRoutes } from '../webhooks/webhooks.routes.ts';
import type { Foundation } from './foundation.ts';
import type { TaskParts } from './tasks.ts';

/** Returns the routes that submit, show and cancel tasks and manage webhooks. */
export function composeTaskRoutes(
  { config, ledger, catalog, catalogSource, cells, storage, clock, log }: Foundation,
  tasks: TaskParts,
  redis: Redis,
  pools: CancelablePools,
): Route[] {
  const unserved = new UnservedPools(() => tasks.dispatch.liveSlots(), log);
  const workers = new WorkersStore(cells.home.money);
  const submits = new SubmitTaskService(ledger, catalog, tasks.reads, {
    queuedTasksMax: () => catalogSource.current.queuedTasksMax,
    requireWorkingPool: requireWorkingPool(() => workers.misconfigured()),
    onOrder: (pools) => void unserved.ordered(pools),
  });
  const cancels = new CancelTaskService({
    reads: tasks.reads,
    sweeps: tasks.sweeps,
    endings: tasks.endings,
    publisher: createCancelPublisher(redis, config.redisPrefix),
    pools,
  });
  const service = new TasksService(
    tasks.reads,
    tasks.retention,
    tasks.estimates,
    storage,
    tasks.waiter,
    clock,
  );
  return [
    ...taskRoutes(submits, tasks.results),
    ...nativeTaskRoutes(service, cancels),
    ...openAiImageRoutes(submits, { results: tasks.results, cancels }),
    ...openAiVideoRoutes(submits, service),
    ...webhookRoutes(tasks.secrets, tasks.deliveries),
    ...alertRoutes(tasks.alerts),
  ];
}
