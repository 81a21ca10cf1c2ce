import { availableParallelism } from 'node:os';
import type { Logger } from '../src/lib/logger.ts';
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

/** Serves queues until the process is told to stop, see {@link serveUntilStopped}. */
export function runWorkerProcess(
  parts: WorkerParts,
  settings: WorkerProcessSettings,
  release: () => Promise<void>,
): ServingProcess {
  const { log } = parts;
  const start = (stop: StopProcess): RunningWorker =>
    startWorker(parts, {
      ...settings,
      concurrency: {
        postprocess: POSTPROCESS_SLOTS_PER_CORE * availableParallelism(),
        webhooks: WEBHOOK_SLOTS,
        maintenance: MAINTENANCE_SLOTS,
      },
      onDeaf: (queue) => {
        log.fatal({ queue }, 'jobs wait but none is fetched; a new process is needed');
        stop('deaf', EXIT_DEAF);
      },
    });
  return serveUntilStopped(start, { log, drainMs: settings.drainMs }, release);
}

/** Ends the process, with that exit code. */
type StopProcess = (reason: string, exitCode: number) => void;

export interface ServingProcess {
  /** Whether it takes work: not while it stops or changes its engines. */
  isReady(): boolean;
  /** Lets jobs end, prepares, and serves anew. */
  restart(prepare: () => Promise<void>): void;
}

/**
 * Serves until the process is told to stop: SIGTERM, SIGINT, or a parent that has gone. Says `ready` to a parent and ends the process
 * itself; `release` closes what the parts were made from.
 */
export function serveUntilStopped(
  start: (stop: StopProcess) => RunningWorker,
  { log, drainMs }: { readonly log: Logger; readonly drainMs: number },
  release: () => Promise<void>,
): ServingProcess {
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
