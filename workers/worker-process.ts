import { availableParallelism } from 'node:os';
import type { Logger } from '../src/lib/logger.ts';
import { type MetricsServerOptions, startMetricsServer } from './metrics-server.ts';
import type { QueueSelection } from './queue-selection.ts';
import { type RunningWorker, startWorker } from './start-worker.ts';
import type { WorkerParts } from './worker-parts.ts';

export interface WorkerProcessSettings {
  readonly redisUrl: string;
  /** What every name in Redis begins with. */
  readonly prefix: string;
  /** Ms that running jobs get when the process is asked to stop. */
  readonly drainMs: number;
  readonly selection: QueueSelection;
  /** Names this process in leases, jobs and the board. */
  readonly workerName: string;
}

const POSTPROCESS_SLOTS_PER_CORE = 4;
const WEBHOOK_SLOTS = 20;
const MAINTENANCE_SLOTS = 4;
/** Ms beyond the drain after which the process ends whatever still runs: leases and holds repair the rest. */
const EXIT_GRACE_MS = 15_000;
const EXIT_DEAF = 1;

/** Ends the process, with that exit code. */
type StopProcess = (reason: string, exitCode: number) => void;

/** What a process serves by. */
export interface Serving {
  start(stop: StopProcess): RunningWorker;
  /** Ms that running jobs get when the process is asked to stop. */
  readonly drainMs: number;
  /** Closes what the parts were made from. */
  release(): Promise<void>;
}

/** Serves the selected queues by these parts. */
export function queuesServing(
  parts: WorkerParts,
  settings: WorkerProcessSettings,
  release: () => Promise<void>,
): Serving {
  const start = (stop: StopProcess): RunningWorker =>
    startWorker(parts, {
      ...settings,
      concurrency: {
        postprocess: POSTPROCESS_SLOTS_PER_CORE * availableParallelism(),
        webhooks: WEBHOOK_SLOTS,
        maintenance: MAINTENANCE_SLOTS,
      },
      onDeaf: (queue) => {
        parts.log.fatal({ queue }, 'jobs wait but none is fetched; a new process is needed');
        stop('deaf', EXIT_DEAF);
      },
    });
  return { start, drainMs: settings.drainMs, release };
}

export interface ServingProcess {
  /** Whether it takes work: not while it stops or changes its engines. */
  isReady(): boolean;
  /** Lets jobs end, prepares, and serves anew. */
  restart(prepare: () => Promise<void>): void;
}

/**
 * Opens the page of the process before it prepares, so that probes find it alive, and serves until stopped, see {@link serveUntilStopped}. The
 * page says `ready` while the process takes work, and closes with what else is released. Throws what `prepare` throws, and when the page's
 * port is taken.
 */
export async function serveWithPage(
  options: Omit<MetricsServerOptions, 'isReady'>,
  prepare: () => Promise<Serving>,
): Promise<ServingProcess> {
  let served: ServingProcess | undefined;
  const page = await startMetricsServer({ ...options, isReady: () => served?.isReady() ?? false });
  const serving = await prepare();
  const release = async (): Promise<void> => {
    page.close();
    await serving.release();
  };
  served = serveUntilStopped({ ...serving, release }, options.log);
  return served;
}

/** Serves until the process is told to stop: SIGTERM, SIGINT, or a parent that has gone. Says `ready` to a parent and ends the process itself. */
export function serveUntilStopped({ start, drainMs, release }: Serving, log: Logger): ServingProcess {
  let stopping = false;
  let changing = false;
  let restarting = Promise.resolve();
  const stop: StopProcess = (reason, exitCode) => {
    if (stopping) {
      return;
    }
    stopping = true;
    log.info({ reason }, 'worker stopping');
    endAfter(drainMs + EXIT_GRACE_MS, log);
    void restarting
      .then(() => running.close())
      .then(release)
      .catch((error: unknown) => log.error({ error }, 'worker did not stop cleanly'))
      .finally(() => process.exit(exitCode));
  };
  let running: RunningWorker = start(stop);
  const restart = async (prepare: () => Promise<void>): Promise<void> => {
    if (stopping) {
      return;
    }
    log.info('the engines have changed: running jobs end, then the worker serves by the new ones');
    changing = true;
    await running.close();
    running = { slots: new Map(), close: async () => undefined };
    await prepare();
    if (!stopping) {
      running = start(stop);
      changing = false;
      log.info({ slots: Object.fromEntries(running.slots) }, 'worker ready');
    }
  };
  process.once('SIGTERM', () => stop('SIGTERM', 0));
  process.once('SIGINT', () => stop('SIGINT', 0));
  process.once('disconnect', () => stop('disconnect', 0));
  log.info({ slots: Object.fromEntries(running.slots) }, 'worker ready');
  process.send?.({ type: 'ready' });
  return {
    isReady: () => !stopping && !changing,
    restart: (prepare) => {
      restarting = restarting
        .then(() => restart(prepare))
        .catch((error: unknown) => {
          log.fatal({ error }, 'the worker could not start again');
          // not awaited by `stop`, which waits for this very promise
          setImmediate(() => stop('restart failed', EXIT_DEAF));
        });
    },
  };
}

function endAfter(milliseconds: number, log: Logger): void {
  const timer = setTimeout(() => {
    log.error('worker did not stop in time');
    process.exit(1);
  }, milliseconds);
  timer.unref();
}
