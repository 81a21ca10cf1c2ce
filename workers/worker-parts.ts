import type { EngineRegistry } from '../src/engines/registry.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { EngineRests } from '../src/tasks/engine-rests.ts';
import type { GpuMemoryGate } from '../src/tasks/gpu-memory-gate.ts';
import type { InPlaceService } from '../src/tasks/in-place.service.ts';
import type { LeaseKeeper } from '../src/tasks/lease-keeper.ts';
import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';
import type { WorkersStore } from '../src/tasks/workers.store.ts';
import type { WebhookDeliveriesStore } from '../src/webhooks/webhook-deliveries.store.ts';
import type { JobObserver } from './job-metrics.ts';
import type { PreemptionNotice } from './preemption-notice.ts';
import type { WorkerServices } from './worker-services.ts';

/** The parts of a worker process, before it knows which queues to serve. */
export interface WorkerParts {
  readonly services: WorkerServices;
  readonly engines: EngineRegistry;
  /** Pools whose engine is away from this process. */
  readonly rests: EngineRests;
  /** Decides who may use the memory of this host's GPUs. Absent when no GPU is shared. */
  readonly rooms?: Pick<GpuMemoryGate, 'hasRoom' | 'onChange'>;
  readonly leases: LeaseKeeper;
  /** Whether the host is about to be taken away. Absent when nothing announces it. */
  readonly notice?: Pick<PreemptionNotice, 'isGiven' | 'onChange'>;
  readonly workers: WorkersStore;
  /** Work that continues after its job has ended. Absent when every task goes through the queue. */
  readonly inPlace?: Pick<InPlaceService, 'idle'>;
  readonly dispatch: TaskDispatchStore;
  readonly deliveries: Pick<WebhookDeliveriesStore, 'due'>;
  /** Subscribes to wake-ups until closed. The argument is the queue that has waiting rows, or undefined for any. */
  readonly listenSignals: (onWaiting: (queue: string | undefined) => void) => { close(): Promise<void> };
  readonly log: Logger;
  /** Called around each job run. */
  readonly observer?: JobObserver;
}
