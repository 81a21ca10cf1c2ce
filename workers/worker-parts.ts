import type { EngineRegistry } from '../src/engines/registry.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { EngineRests } from '../src/tasks/engine-rests.ts';
import type { GpuRooms } from '../src/tasks/gpu-rooms.ts';
import type { InPlaceService } from '../src/tasks/in-place.service.ts';
import type { LeaseKeeper } from '../src/tasks/lease-keeper.ts';
import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';
import type { WorkersStore } from '../src/tasks/workers.store.ts';
import type { WebhookDeliveriesStore } from '../src/webhooks/webhook-deliveries.store.ts';
import type { JobObserver } from './job-metrics.ts';
import type { PreemptionNotice } from './preemption-notice.ts';
import type { WorkerServices } from './worker-services.ts';

/** What a worker process is made of before it is told which queues to serve. */
export interface WorkerParts {
  readonly services: WorkerServices;
  readonly engines: EngineRegistry;
  /** Pools whose engine is away from this process. */
  readonly rests: EngineRests;
  /** Who may use the memory of this host's GPUs. Absent: none is shared. */
  readonly rooms?: Pick<GpuRooms, 'hasRoom' | 'onChange'>;
  readonly leases: LeaseKeeper;
  /** Whether the host is about to go. Absent: nobody would tell. */
  readonly notice?: Pick<PreemptionNotice, 'isGiven' | 'onChange'>;
  readonly workers: WorkersStore;
  /** What goes on after its job has ended. Absent where every task takes the way through the queue. */
  readonly inPlace?: Pick<InPlaceService, 'idle'>;
  readonly dispatch: TaskDispatchStore;
  readonly deliveries: Pick<WebhookDeliveriesStore, 'due'>;
  /** Hears which queue has rows waiting, undefined: any of them, until closed. */
  readonly listenSignals: (onWaiting: (queue: string | undefined) => void) => { close(): Promise<void> };
  readonly log: Logger;
  /** Called after each job run. */
  readonly observer?: JobObserver;
}
