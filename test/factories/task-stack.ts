import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RelaySettings } from '../../queues/relay.ts';
import { CatalogService } from '../../src/catalog/catalog.service.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import type { Engine } from '../../src/engines/engine.types.ts';
import type { GpuShare } from '../../src/engines/gpu-memory.ts';
import { PollableRuns } from '../../src/engines/pollable-runs.ts';
import { EngineRegistry } from '../../src/engines/registry.ts';
import { createAnswerCipher } from '../../src/http/idempotency/answer-cipher.ts';
import { IdempotencyStore } from '../../src/http/idempotency/idempotency.store.ts';
import type { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { NightlyProof } from '../../src/ledger/nightly-proof.ts';
import { HoldReaper } from '../../src/ledger/reaper.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { WriteOffTotals } from '../../src/ledger/write-off-totals.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { createLogger, type Logger } from '../../src/lib/logger.ts';
import type { MediaOutput, PostprocessJob } from '../../src/media/postprocess.ts';
import type { Storage } from '../../src/media/storage.types.ts';
import { createFileStorage } from '../../src/media/storage-fs.ts';
import { oneCell } from '../../src/store/cells.ts';
import type { Database } from '../../src/store/database.ts';
import { CancelTaskService } from '../../src/tasks/cancel-task.service.ts';
import { EngineRests } from '../../src/tasks/engine-rests.ts';
import { GenerateService } from '../../src/tasks/generate.service.ts';
import { GpuMemoryGate } from '../../src/tasks/gpu-memory-gate.ts';
import { InPlaceService, type InPlaceSettings } from '../../src/tasks/in-place.service.ts';
import { LeaseKeeper, type LeaseSettings } from '../../src/tasks/lease-keeper.ts';
import { LoadedModels } from '../../src/tasks/loaded-models.ts';
import { ModelAffinityClaims } from '../../src/tasks/model-affinity-claims.ts';
import { OrphanSweepService } from '../../src/tasks/orphan-sweep.service.ts';
import { StorageRetry } from '../../src/tasks/outage-retry.ts';
import { OverflowService } from '../../src/tasks/overflow.service.ts';
import { PostprocessService } from '../../src/tasks/postprocess.service.ts';
import { QueueEstimates } from '../../src/tasks/queue-estimates.ts';
import { QueuedRuns } from '../../src/tasks/queued-runs.ts';
import { requireWorkingPool } from '../../src/tasks/require-working-pool.ts';
import { RetentionService } from '../../src/tasks/retention.service.ts';
import { SubmitTaskService } from '../../src/tasks/submit-task.service.ts';
import { SweepService } from '../../src/tasks/sweep.service.ts';
import { TaskAffinityStore } from '../../src/tasks/task-affinity.store.ts';
import { type ClaimedTask, TaskClaimsStore } from '../../src/tasks/task-claims.store.ts';
import { TaskDispatchStore } from '../../src/tasks/task-dispatch.store.ts';
import { TaskEndings } from '../../src/tasks/task-endings.ts';
import { type MediaPostprocess, TaskFinisher } from '../../src/tasks/task-finisher.ts';
import { TaskOverflowStore } from '../../src/tasks/task-overflow.store.ts';
import { EVERY_TASK, TaskReadsStore } from '../../src/tasks/task-reads.store.ts';
import { presentTaskResult } from '../../src/tasks/task-result.presenter.ts';
import { TaskResultsService } from '../../src/tasks/task-results.service.ts';
import { TaskRetentionStore } from '../../src/tasks/task-retention.store.ts';
import { TaskSignalsStore } from '../../src/tasks/task-signals.store.ts';
import { TaskSweepStore } from '../../src/tasks/task-sweep.store.ts';
import { TaskWaiter } from '../../src/tasks/task-waiter.ts';
import { TasksService } from '../../src/tasks/tasks.service.ts';
import { WorkersStore } from '../../src/tasks/workers.store.ts';
import { UsageDays } from '../../src/usage/usage-days.store.ts';
import { AlertsStore } from '../../src/webhooks/alerts.store.ts';
import { DeliverWebhookService } from '../../src/webhooks/deliver-webhook.service.ts';
import { WebhookDeliveriesStore } from '../../src/webhooks/webhook-deliveries.store.ts';
import { WebhookSecretsService } from '../../src/webhooks/webhook-secrets.service.ts';
import { WebhookSecretsStore } from '../../src/webhooks/webhook-secrets.store.ts';
import { WebhookSender } from '../../src/webhooks/webhook-sender.ts';
import { parseQueueSelection } from '../../workers/queue-selection.ts';
import { type RunningWorker, startWorker } from '../../workers/start-worker.ts';
import type { WorkerParts } from '../../workers/worker-parts.ts';
import { testLedger } from './ledger.ts';
import { testMonthClose } from './month-close.ts';
import { ownTemporaryFolder } from './temporary-folder.ts';

export interface TaskStackOptions {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly engine: Engine;
  /** Engines of additional pools. */
  readonly moreEngines?: readonly Engine[];
  /** Memory that their servers need on the one GPU, which has 24,000 MiB. */
  readonly gpuShares?: readonly GpuShare[];
  /** The catalog; the tests' own by default. */
  readonly catalog?: CatalogService;
  /** Folder shared by all processes of a test; a new one by default. */
  readonly folder?: string;
  readonly prefix?: string;
  readonly worker?: string;
  readonly slots?: number;
  readonly leases?: LeaseSettings;
  readonly postprocess?: MediaPostprocess;
  readonly wrapStorage?: (storage: Storage) => Storage;
  readonly accountInFlightMax?: number;
  readonly mediaTtlMs?: number;
  /** Pictures that may be finished where they were generated; none by default. */
  readonly inPlace?: InPlaceSettings;
  readonly runTimeoutMs?: number;
  /** The models its engines are assumed to have loaded; those of their last runs by default. */
  readonly loaded?: Pick<LoadedModels, 'began' | 'of'>;
  /** How long a task lets others with an already loaded model go first, in ms. */
  readonly patienceMs?: number;
  readonly relay?: RelaySettings;
  readonly log?: Logger;
}

export const FAST_LEASES: LeaseSettings = { leaseMs: 900, heartbeatMs: 250 };
/** A relay with intervals short enough for a test. */
export const FAST_RELAY: RelaySettings = { sweepMs: 200, lostAfterMs: 1_500, lostFromEmptyQueueAfterMs: 400 };

const CATALOG = parseCatalog(
  `
models:
  - { id: image-turbo, endpoints: [image], pricing: { image: "0.005" }, routes: [{ engine: gpu, model: z-image-turbo }] }
  - { id: video-fast, endpoints: [video], pricing: { request: "0.30" }, routes: [{ engine: gpu, model: z-image-turbo }] }
engines: [{ id: gpu, kind: builtin }]`,
  'tollgate.yaml',
  {},
);
/** The models of the tests' own catalog. */
export const TASK_CATALOG = new CatalogService(() => CATALOG);

/** The whole asynchronous path over one database and one Redis, assembled as an entry point would. */
export type TaskStack = Awaited<ReturnType<typeof createTaskStack>>;

export async function createTaskStack(options: TaskStackOptions) {
  const pool = options.database.money;
  const cells = oneCell(options.database);
  const log = options.log ?? createLogger({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const folder = options.folder ?? ownTemporaryFolder('tasks');
  const prefix = options.prefix ?? `test-${randomBytes(4).toString('hex')}`;
  const worker = options.worker ?? `test.${process.pid}.${randomBytes(3).toString('hex')}`;
  const files = await createFileStorage({
    root: join(folder, 'media'),
    sign: (key, { ttlSeconds }) =>
      `http://media.test/${key}?ttl=${ttlSeconds}&n=${randomBytes(4).toString('hex')}`,
  });
  const storage = options.wrapStorage ? options.wrapStorage(files) : files;
  const ledger: PostgresLedger = testLedger(options.database);
  const policy = { mediaTtlMs: options.mediaTtlMs ?? 86_400_000, keepPrompts: false };
  const endings = new TaskEndings(ledger, policy, systemClock);
  const claims = new TaskClaimsStore(cells);
  const reads = new TaskReadsStore(cells);
  const sweepStore = new TaskSweepStore(cells);
  const retentionStore = new TaskRetentionStore(cells);
  const dispatch = new TaskDispatchStore(cells, options.accountInFlightMax ?? 100);
  const deliveries = new WebhookDeliveriesStore(cells);
  const leases = new LeaseKeeper(claims, options.leases ?? FAST_LEASES, log);
  const engines = new EngineRegistry(
    new Map(
      [options.engine, ...(options.moreEngines ?? [])].map((engine) => [
        engine.id,
        { engine, slots: options.slots ?? 8 },
      ]),
    ),
  );
  const waiter = new TaskWaiter(reads);
  const estimates = new QueueEstimates(reads, () => dispatch.liveSlots());
  const results = new TaskResultsService(reads, storage, estimates, waiter);
  const secrets = new WebhookSecretsService(
    new WebhookSecretsStore(cells),
    createAnswerCipher('a secret of the installation, for tests'),
  );
  const sender = new WebhookSender({ allowPrivateTargets: true, timeoutMs: 2_000 });
  const catalog = options.catalog ?? TASK_CATALOG;
  const timeoutMs = options.runTimeoutMs ?? 60_000;
  const rests = new EngineRests(engines, log, { probeMs: 100, answerMs: 1_000 });
  const rooms = new GpuMemoryGate({
    totals: new Map([[0, 24_000]]),
    free: async (pool) => await engines.find(pool)?.freeMemory?.(AbortSignal.timeout(1_000)),
    log,
  });
  rooms.renew(options.gpuShares ?? []);
  const patience = new StorageRetry(log);
  const finisher = new TaskFinisher({
    ...{ reads, endings, storage, patience },
    postprocess: options.postprocess ?? copyThrough,
  });
  const inPlace = options.inPlace && new InPlaceService(finisher, options.inPlace, log);
  const generate = new GenerateService<ClaimedTask>(
    {
      ...{ claims, leases, endings, engines, rests, rooms, storage, patience, inPlace, log },
      extraOf: (task) => catalog.extraOf(task),
      policyOf: (task) => ({ ...catalog.runPolicyOf(task), timeoutMs }),
    },
    { workFolder: join(folder, 'work'), roomWaitMs: 50 },
  );
  const verifier = new LedgerVerifier(pool);
  const services = {
    generate: new QueuedRuns({
      claims: new ModelAffinityClaims(claims, new TaskAffinityStore(cells), options.patienceMs),
      loaded: options.loaded ?? new LoadedModels(engines, rests),
      ...{ leases, generate, worker },
    }),
    postprocess: new PostprocessService(
      {
        ...{ claims, leases, endings, storage, patience, finisher },
        isPaid: (id) => engines.find(id)?.capabilities.paid ?? true,
        isHeld: PollableRuns.owns,
      },
      { worker, workFolder: join(folder, 'work'), log },
    ),
    webhooks: new DeliverWebhookService({
      deliveries,
      secrets,
      sender,
      buildPayload: async (taskId) => presentTaskResult(await results.read(taskId, EVERY_TASK)),
      clock: systemClock,
      log,
    }),
    overflow: new OverflowService(new TaskOverflowStore(pool), dispatch, () => catalog.models, engines, log),
    sweeps: new SweepService(sweepStore, endings, log),
    orphans: new OrphanSweepService(retentionStore, storage, { clock: systemClock, log }),
    retention: new RetentionService(retentionStore, storage, { taskDays: 30 }, log),
    reaper: new HoldReaper(new LedgerStore(pool), ledger, log),
    months: testMonthClose(options.database),
    usageDays: new UsageDays(pool),
    writeOffs: new WriteOffTotals(pool),
    verifier,
    nightlyProof: new NightlyProof({ pool, verifier, statements: new StatementProof(pool) }),
    bookRoots: undefined,
    payments: { sweep: async () => 0, followMoves: async () => 0 },
    idempotencyKeys: new IdempotencyStore(cells),
    keys: { forget: async () => 0 },
    alerts: new AlertsStore(cells),
  };
  const parts: WorkerParts = {
    services,
    engines,
    rests,
    rooms,
    leases,
    workers: new WorkersStore(pool),
    ...(inPlace ? { inPlace } : {}),
    dispatch,
    deliveries,
    listenSignals: (onSignal) => new TaskSignalsStore(options.database.openClient, onSignal, () => undefined),
    log,
  };
  const running: RunningWorker[] = [];
  const published: string[] = [];
  return {
    ...parts,
    rooms,
    deliveries,
    folder,
    prefix,
    ledger,
    storage,
    claims,
    reads,
    results,
    waiter,
    secrets,
    endings,
    retentionStore,
    estimates,
    published,
    submits: new SubmitTaskService(ledger, catalog, reads, {
      queuedTasksMax: () => 1_000,
      requireWorkingPool: requireWorkingPool(() => parts.workers.misconfigured()),
    }),
    tasks: new TasksService(reads, retentionStore, estimates, storage, waiter, systemClock),
    cancels: new CancelTaskService({
      reads,
      sweeps: sweepStore,
      endings,
      publisher: { publish: async (id) => void published.push(id) },
      pools: engines,
    }),
    /** Starts a worker in this process; `queues` as on the command line. */
    start: (queues?: string, drainMs = 5_000): RunningWorker => {
      const started = startWorker(parts, {
        redisUrl: options.redisUrl,
        prefix,
        workerName: worker,
        selection: parseQueueSelection(queues === undefined ? [] : [`--queues=${queues}`]),
        concurrency: { postprocess: 4, webhooks: 8, maintenance: 4 },
        drainMs,
        heartbeatMs: 100,
        relay: { ...FAST_RELAY, ...options.relay },
        onStuck: () => undefined,
      });
      running.push(started);
      return started;
    },
    close: async (): Promise<void> => {
      await Promise.all(running.map((started) => started.close()));
      // tests also run jobs without a worker, which would wait for this
      await inPlace?.idle();
      await leases.close();
      await rooms.close();
      rests.close();
      waiter.close();
      await sender.close();
      await ledger.close();
      await engines.close();
      await storage.close();
      if (options.folder === undefined) {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Post-processing that copies the bytes, for tests of the path around it. */
export async function copyThrough(job: PostprocessJob): Promise<MediaOutput[]> {
  const mediaType = job.kind === 'image' ? 'image/png' : 'video/mp4';
  const outputs: MediaOutput[] = [];
  for (const [index, input] of job.inputs.entries()) {
    const content = await bytesOf(input);
    outputs.push({
      index,
      variant: 'original',
      content,
      mediaType,
      bytes: content.length,
      width: job.width,
      height: job.height,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
  }
  return outputs;
}
