import { queueName } from '../queues/queue-name.ts';
import { composeRemoteWorker } from '../src/compose/remote-worker.ts';
import { loadRemoteWorkerConfig } from '../src/config/remote-worker-config.ts';
import type { reloadOnSighup } from '../src/lib/reload-on-sighup.ts';
import { followCatalog } from './follow-catalog.ts';
import { PreemptionNotice } from './preemption-notice.ts';
import { QueueGates } from './queue-gates.ts';
import { type QueueSelection, QueueSelectionError, servesPool } from './queue-selection.ts';
import { RemotePool } from './remote-pool.ts';
import { drain, followAbsences, type RunningWorker, register } from './start-worker.ts';
import { ThrottledLog } from './throttled-log.ts';
import { serveWithPage } from './worker-process.ts';

/** Seconds that a request for a task may stay open: less than proxies and routers along the way allow. */
const CLAIM_WAIT_SECONDS = 25;

type RemoteParts = Awaited<ReturnType<typeof composeRemoteWorker>> & { readonly notice: PreemptionNotice };

/** Runs a worker process without database and Redis. Throws ConfigError, CatalogError, EngineSettingsError, QueueSelectionError. */
export async function runRemoteWorker(
  environment: NodeJS.ProcessEnv,
  selection: QueueSelection,
  hangUp: ReturnType<typeof reloadOnSighup>,
): Promise<void> {
  const config = loadRemoteWorkerConfig(environment);
  const worker = await composeRemoteWorker(config, (pool) => servesPool(selection, pool));
  const { log, registry } = worker;
  const { host, hostSetting } = config;
  const page = { host, hostSetting, port: config.workerPort, registry, log };
  const serving = await serveWithPage(page, async () => {
    const notice = new PreemptionNotice(config.preemption, log);
    const parts = { ...worker, notice };
    return {
      start: () => startRemoteWorker(parts, selection, config.drainMs),
      drainMs: config.drainMs,
      release: async () => {
        await notice.close();
        await worker.close();
      },
    };
  });
  followCatalog(worker.catalogSource, selection, () => serving.restart(worker.renewEngines));
  hangUp.reload(worker.catalogSource);
}

function startRemoteWorker(parts: RemoteParts, selection: QueueSelection, drainMs: number): RunningWorker {
  const { api, claims, engines, generate, log, workerName } = parts;
  const throttledLog = new ThrottledLog(log);
  const pools = poolsOf(parts, selection);
  const slots = new Map(pools.map((pool) => [queueName('generate', pool), engines.slots(pool)]));
  const serving = pools.map(
    (pool) =>
      new RemotePool({
        name: queueName('generate', pool),
        slots: engines.slots(pool),
        next: (signal) => claims.next(pool, CLAIM_WAIT_SECONDS, signal),
        run: (task, signal) => generate.run(task, signal),
        onError: (error) => throttledLog.warn(error, pool),
        log,
      }),
  );
  const gates = new QueueGates(serving, (error, queue) => throttledLog.warn(error, queue));
  const open = () => pools.map((pool) => [pool, openSlots(gates, slots, pool)]);
  const registration = register(
    {
      ...parts,
      // one call reports both the state of the worker and its slots
      workers: {
        report: ({ resting, misconfigured, running, draining }) =>
          api.report({
            slots: Object.fromEntries(open()),
            away: [...resting],
            misconfigured: [...misconfigured],
            running,
            draining,
          }),
        remove: async () => {
          await api.report({ slots: {}, away: [], running: 0, draining: null, leaving: true });
        },
      },
      dispatch: { registerSlots: async () => undefined, forgetWorker: async () => undefined },
    },
    { workerName },
    { slots, gates, throttledLog },
  );
  const stopFollowing = followAbsences(parts, slots, gates, () => registration.renew());
  return {
    slots,
    close: async () => {
      stopFollowing();
      const drained = drain(serving, parts, drainMs);
      await Promise.all([registration.close(), drained]);
    },
  };
}

function openSlots(gates: QueueGates, slots: ReadonlyMap<string, number>, pool: string): number {
  const queue = queueName('generate', pool);
  return gates.isServed(queue) ? (slots.get(queue) ?? 0) : 0;
}

/** Returns the pools to serve. A remote worker has nothing to post-process, deliver or maintain. Throws QueueSelectionError. */
function poolsOf({ engines }: RemoteParts, { families, pools }: QueueSelection): readonly string[] {
  if (!families.has('generate')) {
    throw new QueueSelectionError('--queues: a worker with WORKER_API serves generate[:pool] only');
  }
  const asked = pools === 'all' ? engines.names : pools;
  const missing = asked.find((pool) => engines.slots(pool) === 0);
  if (missing !== undefined) {
    throw new QueueSelectionError(`--queues: no engine ${missing} in the catalog`);
  }
  return asked;
}
