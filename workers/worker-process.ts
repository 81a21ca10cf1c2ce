import { availableParallelism } from 'node:os';
import type { Logger } from '../src/lib/logger.ts';
import { type MetricsServerOptions, startMetricsServer } from './metrics-server.ts';
import type { QueueSelection } from './queue-selection.ts';
import { type RunningWorker, startWorker } from './start-worker.ts';
import type { WorkerParts } from './worker-parts.ts';

export interface WorkerProcessSettings {
  readonly redisUrl: string;
  /** Prefix of every name in Redis. */
  readonly prefix: string;
  /** Ms that running jobs get to finish when the process is asked to stop. */
  readonly drainMs: number;
  readonly selection: QueueSelection;
  /** Name of this process in leases, jobs and on the board. */
  readonly workerName: string;
}

const POSTPROCESS_SLOTS_PER_CORE = 4;
const WEBHOOK_SLOTS = 20;
const MAINTENANCE_SLOTS = 4;
/** Ms after the drain at which the process exits no matter what still runs: leases and holds repair the rest. */
const EXIT_GRACE_MS = 15_000;
const EXIT_STUCK = 1;

/** Ends the process with the given exit code. */
type StopProcess = (reason: string, exitCode: number) => void;

/** How a process starts, drains and releases what it serves. */
export interface Serving {
  start(stop: StopProcess): RunningWorker;
  /** Ms that running jobs get to finish when the process is asked to stop. */
  readonly drainMs: number;
  /** Closes what the parts were built from. */
  release(): Promise<void>;
}

/** Returns how to serve the selected queues with these parts. */
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
      onStuck: (queue) => {
        parts.log.fatal({ queue }, 'jobs are waiting but none is fetched; this process must be replaced');
        stop('stuck', EXIT_STUCK);
      },
    });
  return { start, drainMs: settings.drainMs, release };
}

export interface ServingProcess {
  /** Whether the process takes work: not while it stops or changes its engines. */
  isReady(): boolean;
  /** Lets running jobs end, calls `prepare`, and starts serving again. */
  restart(prepare: () => Promise<void>): void;
}

/**
 * Opens the status page of the process before `prepare`, so that probes find it alive, then serves until stopped, see {@link
 * serveUntilStopped}. The page reports `ready` while the process takes work, and closes with the rest. Rethrows errors of
 * `prepare`, and throws ConfigError or UnavailableError if the page cannot listen.
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

/** Serves until SIGTERM, SIGINT, or the exit of the parent process. Sends `ready` to a parent, and ends the process itself. */
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
    log.info('the engines have changed: the worker restarts with the new ones once running jobs end');
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
          // not awaited here, because `stop` waits for this very promise
          setImmediate(() => stop('restart failed', EXIT_STUCK));
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
