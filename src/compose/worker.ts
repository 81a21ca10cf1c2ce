import { availableParallelism } from 'node:os';
import { PollableRuns } from '../engines/pollable-runs.ts';
import type { EngineRegistry } from '../engines/registry.ts';
import { IdempotencyStore } from '../http/idempotency/idempotency.store.ts';
import { KeysStore } from '../keys/keys.store.ts';
import { MonthClose } from '../ledger/month-close.ts';
import { NightlyProof } from '../ledger/nightly-proof.ts';
import { HoldReaper } from '../ledger/reaper.ts';
import { StatementProof } from '../ledger/statement-proof.ts';
import { WriteOffTotals } from '../ledger/write-off-totals.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { createFfmpeg } from '../media/ffmpeg.ts';
import { warnOfOldFfmpeg } from '../media/ffmpeg-age.ts';
import { postprocess } from '../media/postprocess.ts';
import { EngineRests } from '../tasks/engine-rests.ts';
import { GenerateService } from '../tasks/generate.service.ts';
import type { GpuMemoryGate } from '../tasks/gpu-memory-gate.ts';
import { InPlaceService } from '../tasks/in-place.service.ts';
import { LEASE_SETTINGS, LeaseKeeper } from '../tasks/lease-keeper.ts';
import { LoadedModels } from '../tasks/loaded-models.ts';
import { OrphanSweepService } from '../tasks/orphan-sweep.service.ts';
import { StorageRetry } from '../tasks/outage-retry.ts';
import { OverflowService } from '../tasks/overflow.service.ts';
import { PostprocessService } from '../tasks/postprocess.service.ts';
import { QueuedRuns } from '../tasks/queued-runs.ts';
import { RetentionService } from '../tasks/retention.service.ts';
import { SweepService } from '../tasks/sweep.service.ts';
import type { ClaimedTask } from '../tasks/task-claims.store.ts';
import { TaskFinisher } from '../tasks/task-finisher.ts';
import { TaskOverflowStore } from '../tasks/task-overflow.store.ts';
import { EVERY_TASK } from '../tasks/task-reads.store.ts';
import { presentTaskResult } from '../tasks/task-result.presenter.ts';
import { TaskSignalsStore } from '../tasks/task-signals.store.ts';
import { WorkersStore } from '../tasks/workers.store.ts';
import { createRunMetrics, registerEngineGauges } from '../telemetry/engine-metrics.ts';
import { observedFinisher } from '../telemetry/observed-task-finisher.ts';
import { registerStorageGauge } from '../telemetry/process-gauges.ts';
import { StateReadModel } from '../telemetry/state.read-model.ts';
import { tracedEngines, tracedTaskRuns } from '../telemetry/traced-tasks.ts';
import { UsageDays } from '../usage/usage-days.store.ts';
import { DeliverWebhookService } from '../webhooks/deliver-webhook.service.ts';
import { WebhookSender } from '../webhooks/webhook-sender.ts';
import { composeBilling, createStatements } from './billing.ts';
import { prepareFolder, WORK_FOLDER_MODE, workFolderOf } from './data-folder.ts';
import type { Foundation } from './foundation.ts';
import { composeOwnEngines } from './own-engines.ts';
import { composeTasks, type TaskParts } from './tasks.ts';

const TASK_DAYS = 30;
/**
 * Tasks finished in place per core. They mostly wait for the disk and for their settlement, some 60 ms together: a lower number would limit
 * the tasks per second of a process whose files take little work. Encoders have their own limit.
 */
const IN_PLACE_PER_CORE = 64;
const IN_PLACE = {
  /** Thirty pictures of 4 MB. More wait on disk, where another host may take them. */
  bytesMax: 128 * 1024 * 1024,
  /** Maximum wait for a place, in ms. After that another host may be faster. */
  waitMs: 1_000,
};
const WEBHOOK_TIMEOUT_MS = 10_000;

/**
 * Assembles a worker process. `serves` selects the engine pools it works for; their servers are started here if tollgate.yaml says how.
 * `postprocesses`: whether pictures generated here may be finished here. Throws EngineSettingsError, ConfigError or UnavailableError.
 */
export async function composeWorker(
  foundation: Foundation,
  { serves, postprocesses }: { serves: (pool: string) => boolean; postprocesses: boolean },
) {
  const { config, cells, log } = foundation;
  await prepareFolder(workFolderOf(config), WORK_FOLDER_MODE);
  const tasks = composeTasks(foundation);
  const { engines, rooms, ...own } = await composeOwnEngines(foundation, serves);
  const leases = new LeaseKeeper(tasks.claims, LEASE_SETTINGS, log);
  const { webhooks, sender } = composeDeliveries(foundation, tasks);
  const workerName = `${config.workerName}.${process.pid}`;
  const rests = new EngineRests(engines, log);
  const { inPlace, ...runners } = composeRunners(foundation, tasks, {
    engines,
    rests,
    rooms,
    leases,
    workerName,
    postprocesses,
  });
  return {
    workerName,
    parts: {
      services: {
        ...runners,
        ...composeChores(foundation, tasks, engines),
        webhooks,
      },
      engines,
      rests,
      rooms,
      leases,
      ...(inPlace ? { inPlace } : {}),
      dispatch: tasks.dispatch,
      workers: new WorkersStore(cells.home.money),
      deliveries: tasks.deliveries,
      listenSignals: (onWaiting: (queue: string | undefined) => void) =>
        new TaskSignalsStore(cells.sole.openClient, onWaiting, (error) =>
          log.debug({ error }, 'not listening for task signals'),
        ),
      log,
    },
    renewEngines: async () => {
      await own.renew();
      rests.retryMisconfigured();
    },
    close: async () => {
      tasks.waiter.close();
      rests.close();
      await Promise.all([leases.close(), sender.close()]);
      await own.close();
    },
  };
}

function composeRunners(
  { config, log, storage, cells, registry, tracing, catalog }: Foundation,
  { claims, turns, reads, endings }: TaskParts,
  own: {
    engines: EngineRegistry;
    rests: EngineRests;
    rooms: GpuMemoryGate;
    leases: LeaseKeeper;
    workerName: string;
    postprocesses: boolean;
  },
) {
  void warnOfOldFfmpeg(config.ffmpegPath, log);
  const ffmpeg = createFfmpeg({ ffmpegPath: config.ffmpegPath, ffprobePath: config.ffprobePath });
  // Jobs mostly wait for disk and database, so there may be more of them than cores; encoders need a core each.
  const cores = availableParallelism();
  const encoders = { image: new Semaphore(cores), video: new Semaphore(Math.max(1, cores - 1)) };
  const { engines, rests, rooms, leases, workerName: worker } = own;
  const workFolder = workFolderOf(config);
  const patience = new StorageRetry(log);
  registerStorageGauge(registry, patience);
  registerEngineGauges(registry, engines, rests);
  const files = new TaskFinisher({
    reads,
    endings,
    storage,
    patience,
    postprocess: (job) => encoders[job.kind].run(() => postprocess(job, ffmpeg), job.signal),
  });
  const finisher = observedFinisher(files, registry, tracing);
  const places = IN_PLACE_PER_CORE * cores;
  const inPlace = own.postprocesses ? new InPlaceService(finisher, { ...IN_PLACE, places }, log) : undefined;
  const generate = new GenerateService<ClaimedTask>(
    {
      ...{ claims, leases, endings, rests, rooms, storage, patience, inPlace, log },
      engines: tracedEngines(engines, tracing),
      policyOf: (task) => catalog.runPolicyOf(task),
      extraOf: (task) => catalog.extraOf(task),
      onRun: createRunMetrics(registry),
    },
    { workFolder },
  );
  // an engine that left the catalog may have been a paid one
  const isPaid = (engine: string) => engines.find(engine)?.capabilities.paid ?? true;
  const finish = new PostprocessService(
    { claims, leases, endings, storage, patience, finisher, isPaid, isHeld: PollableRuns.owns },
    { worker, workFolder, log },
  );
  const state = new StateReadModel(cells);
  const parentOf = (taskId: string) => state.traceparentOf(taskId);
  const ofRuns = { parentOf, idOf: ({ id }: ClaimedTask) => id };
  const traced = tracedTaskRuns('tasks.generate', generate, ofRuns, tracing);
  const loaded = new LoadedModels(engines, rests);
  return {
    inPlace,
    generate: new QueuedRuns({ claims: turns, leases, loaded, generate: traced, worker }),
    postprocess: tracedTaskRuns('tasks.postprocess', finish, { parentOf, idOf: (taskId) => taskId }, tracing),
  };
}

function composeDeliveries(
  { config, clock, log }: Foundation,
  { deliveries, secrets, results }: TaskParts,
): { webhooks: DeliverWebhookService; sender: WebhookSender } {
  const sender = new WebhookSender({
    allowPrivateTargets: config.webhookPrivateTargets,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
  });
  const webhooks = new DeliverWebhookService({
    deliveries,
    secrets,
    sender,
    buildPayload: async (taskId) => presentTaskResult(await results.read(taskId, EVERY_TASK)),
    clock,
    log,
  });
  return { webhooks, sender };
}

function composeChores(foundation: Foundation, tasks: TaskParts, engines: EngineRegistry) {
  const { config, cells, ledger, ledgerStore, verifier, storage, log, clock } = foundation;
  const keys = new KeysStore(cells);
  const statements = createStatements({
    cells,
    publicUrl: config.publicUrl,
    seller: () => foundation.catalogSource.current.seller,
  });
  const statementProof = new StatementProof(cells.sole.money);
  return {
    overflow: new OverflowService(
      new TaskOverflowStore(cells.sole.money),
      tasks.dispatch,
      () => foundation.catalog.models,
      engines,
      log,
    ),
    sweeps: new SweepService(tasks.sweeps, tasks.endings, log),
    orphans: new OrphanSweepService(tasks.retention, storage, { clock, log }),
    retention: new RetentionService(tasks.retention, storage, { taskDays: TASK_DAYS }, log),
    reaper: new HoldReaper(ledgerStore, ledger, log),
    months: new MonthClose(cells.sole.money, statementProof, statements.documents, log),
    usageDays: new UsageDays(cells.sole.money),
    writeOffs: new WriteOffTotals(cells.sole.money),
    verifier,
    nightlyProof: new NightlyProof({
      pool: cells.sole.money,
      verifier,
      statements: statementProof,
      roots: foundation.bookRoots,
    }),
    bookRoots: foundation.bookRoots,
    payments: composeBilling(foundation, keys),
    keys,
    alerts: tasks.alerts,
    idempotencyKeys: new IdempotencyStore(cells),
  };
}
