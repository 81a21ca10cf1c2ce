import type { Redis } from 'ioredis';
import { listenForCancels } from '../queues/cancel-channel.ts';
import { createProducerConnection, createWorkerConnection } from '../queues/connection.ts';
import { Producer } from '../queues/producer.ts';
import { queueName } from '../queues/queue-name.ts';
import type { Relay, RelaySettings } from '../queues/relay.ts';
import type { EngineRegistry } from '../src/engines/registry.ts';
import { withDeadline } from '../src/lib/deadline.ts';
import { buildWorkers } from './build-workers.ts';
import { Liveness, type LivenessSettings } from './liveness.ts';
import { createProcessors } from './processors.ts';
import { QueueGates } from './queue-gates.ts';
import { type QueueSelection, QueueSelectionError } from './queue-selection.ts';
import { ChoreSchedule } from './schedulers.ts';
import { type RegistrationParts, SlotRegistration } from './slot-registration.ts';
import { startRelay } from './start-relay.ts';
import { ThrottledLog } from './throttled-log.ts';
import type { WorkerParts } from './worker-parts.ts';

export interface WorkerOptions {
  readonly redisUrl: string;
  /** Prefix of every name in Redis. */
  readonly prefix: string;
  /** Unique per process: host and process id. */
  readonly workerName: string;
  readonly selection: QueueSelection;
  /** Maximum concurrent jobs per family; engine pools have their own slots. */
  readonly concurrency: {
    readonly postprocess: number;
    readonly webhooks: number;
    readonly maintenance: number;
  };
  /** Ms that running jobs get to finish when the process shuts down; then their tasks are given back. */
  readonly drainMs: number;
  readonly relay?: RelaySettings;
  /** Ms between two reports of this process. */
  readonly heartbeatMs?: number;
  readonly liveness?: LivenessSettings;
  /** Called when jobs wait and a worker of this process does not take them: the process should be replaced. */
  readonly onStuck: (queue: string) => void;
}

export interface RunningWorker {
  /** Maximum concurrent jobs, by queue. */
  readonly slots: ReadonlyMap<string, number>;
  /** Takes no more jobs, lets running ones finish within `drainMs` and gives the rest back. Never throws. */
  close(): Promise<void>;
}

/** Ms that aborted runs have to give their tasks back. */
const GIVE_BACK_MS = 10_000;

/** Starts serving the selected queues; relay and chores run where maintenance does. Throws QueueSelectionError. */
export function startWorker(parts: WorkerParts, options: WorkerOptions): RunningWorker {
  const { log, leases } = parts;
  const slots = slotsOf(parts.engines, options);
  const throttledLog = new ThrottledLog(log);
  const onRedisError = (error: Error): void => throttledLog.warn(error, 'redis');
  const connections = {
    producer: createProducerConnection(options.redisUrl, onRedisError),
    worker: createWorkerConnection(options.redisUrl, onRedisError),
    cancels: createWorkerConnection(options.redisUrl, onRedisError),
  };
  const producer = new Producer(connections.producer, options);
  const processors = createProcessors(parts.services, producer);
  const workers = buildWorkers(slots, processors, connections.worker, options, {
    log,
    throttledLog,
    observer: parts.observer,
    onStuck: options.onStuck,
  });
  const stopCancels = listenForCancels(connections.cancels, options.prefix, (id) => leases.cancel(id));
  const liveness = new Liveness(workers, producer, options.onStuck, options.liveness);
  const gates = new QueueGates(workers, (error, queue) => throttledLog.warn(error, queue));
  const registration = register(parts, options, { slots, gates, throttledLog });
  const stopFollowing = followAbsences(parts, slots, gates, () => registration.renew());
  const upkeep = startUpkeep(parts, options, producer, throttledLog);
  return {
    slots,
    close: async () => {
      stopFollowing();
      // a check in progress may wait for a silent Redis, and its result no longer matters
      void liveness.close();
      await Promise.all([upkeep.close(), stopCancels(), registration.close()]);
      await drain(workers, parts, options.drainMs);
      await endsWithin(producer.close(), GIVE_BACK_MS);
      disconnect(Object.values(connections));
    },
  };
}

/** Returns the queues to serve, each with its maximum number of concurrent jobs. Throws QueueSelectionError. */
function slotsOf(engines: EngineRegistry, options: WorkerOptions): Map<string, number> {
  const { selection, concurrency } = options;
  const slots = new Map<string, number>();
  if (selection.families.has('generate')) {
    for (const pool of selection.pools === 'all' ? engines.names : selection.pools) {
      if (engines.slots(pool) === 0) {
        throw new QueueSelectionError(`--queues: no engine ${pool} in the catalog`);
      }
      slots.set(queueName('generate', pool), engines.slots(pool));
    }
  }
  for (const family of ['postprocess', 'webhooks', 'maintenance'] as const) {
    if (selection.families.has(family)) {
      slots.set(queueName(family), concurrency[family]);
    }
  }
  return slots;
}

/** Reports this process for as long as it lives, and closes its queues while an operator drains its host. */
export function register(
  {
    engines,
    rests,
    leases,
    dispatch,
    workers,
    log,
  }: Pick<WorkerParts, 'engines' | 'rests' | 'leases' | 'log'> &
    Pick<RegistrationParts, 'dispatch' | 'workers'>,
  { workerName, heartbeatMs }: Pick<WorkerOptions, 'workerName' | 'heartbeatMs'>,
  own: {
    readonly slots: ReadonlyMap<string, number>;
    readonly gates: QueueGates;
    readonly throttledLog: ThrottledLog;
  },
): SlotRegistration {
  const { slots, gates, throttledLog } = own;
  const served = engines.names.filter((pool) => slots.has(queueName('generate', pool)));
  return new SlotRegistration({
    ...{ dispatch, workers },
    report: () => ({
      worker: workerName,
      queues: [...slots.keys()],
      resting: served.filter((pool) => rests.isResting(pool)),
      misconfigured: served.filter((pool) => rests.isMisconfigured(pool)),
      running: leases.size,
      draining: gates.isClosedBy('notice') ? 'notice' : gates.isClosedBy('operator') ? 'operator' : null,
    }),
    slots: () => new Map([...slots].filter(([queue]) => gates.isServed(queue))),
    onDrained: (isDrained) => {
      const isNews = isDrained !== gates.isClosedBy('operator');
      if (isNews) {
        gates.setAll('operator', isDrained);
        log.info(
          { tasks: leases.size },
          isDrained ? 'an operator is draining this host' : 'this host takes work again',
        );
      }
      return isNews;
    },
    onError: (error) => throttledLog.warn(error, 'slots'),
    heartbeatMs,
  });
}

/**
 * Closes the queues of pools whose engine is away or has no GPU memory, and all of them while the host is about to be taken away.
 * Returns the function that stops this.
 */
export function followAbsences(
  { rests, rooms, notice, engines }: Pick<WorkerParts, 'rests' | 'rooms' | 'notice' | 'engines'>,
  slots: ReadonlyMap<string, number>,
  gates: QueueGates,
  onChange: () => void,
): () => void {
  const stops = [
    rests.onChange((pool, isResting) => {
      gates.set(queueName('generate', pool), 'engine', isResting);
      onChange();
    }),
    rooms?.onChange((pool, hasRoom) => gates.set(queueName('generate', pool), 'memory', !hasRoom)),
    notice?.onChange((isGiven) => {
      gates.setAll('notice', isGiven);
      onChange();
    }),
  ];
  gates.setAll('notice', notice?.isGiven ?? false);
  for (const pool of engines.names) {
    const queue = queueName('generate', pool);
    if (slots.has(queue)) {
      gates.set(queue, 'engine', rests.isResting(pool));
      gates.set(queue, 'memory', !(rooms?.hasRoom(pool) ?? true));
      void rests.restUntilReady(pool);
    }
  }
  return () => {
    for (const stop of stops) {
      stop?.();
    }
    for (const pool of engines.names) {
      rests.leave(pool);
    }
  };
}

/** Starts the relay and the chores if this process serves maintenance. */
function startUpkeep(
  parts: WorkerParts,
  options: WorkerOptions,
  producer: Producer,
  throttledLog: ThrottledLog,
): { close(): Promise<void> } {
  if (!options.selection.families.has('maintenance')) {
    return { close: async () => undefined };
  }
  const relay: Relay = startRelay(parts, producer, options.relay);
  const signals = parts.listenSignals((queue) => relay.wake(queue));
  const schedule = new ChoreSchedule(producer, (error) => throttledLog.warn(error, 'chores'));
  return {
    close: async () => {
      await Promise.all([signals.close(), schedule.close()]);
      await relay.close();
    },
  };
}

/** Lets jobs finish; when `drainMs` is over, tells them to give their tasks back. */
export async function drain(
  workers: readonly { close(): Promise<void> }[],
  { leases, inPlace, log }: Pick<WorkerParts, 'leases' | 'inPlace' | 'log'>,
  drainMs: number,
): Promise<void> {
  const closed = Promise.allSettled(workers.map((worker) => worker.close())).then(() => inPlace?.idle());
  if (await endsWithin(closed, drainMs)) {
    return;
  }
  log.warn({ tasks: leases.size }, 'giving running tasks back');
  leases.abortAll('shutdown');
  if (!(await endsWithin(closed, GIVE_BACK_MS))) {
    log.warn('jobs did not stop; their leases will expire');
  }
}

/** Returns whether the promise was fulfilled in time. */
function endsWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return withDeadline(
    promise.then(() => true),
    milliseconds,
    () => false,
  );
}

function disconnect(connections: readonly Redis[]): void {
  for (const connection of connections) {
    // a second disconnect makes ioredis, and with it the process, wait two seconds for a stream that has already ended
    if (connection.status !== 'end') {
      connection.disconnect();
    }
  }
}
