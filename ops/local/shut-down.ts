import type { EmbeddedService } from '../embedded/embedded-service.ts';
import { errorMessage } from '../embedded/error-code.ts';
import { sendSignal } from '../embedded/process-identity.ts';
import type { Application } from './application.ts';
import type { InstanceLock } from './instance-lock.ts';
import type { LogRotation } from './log-rotation.ts';
import type { ServiceWatch } from './service-watch.ts';
import type { Services } from './services.ts';
import type { Terminal } from './terminal.ts';

/** Everything a start has started so far, to be stopped in order. */
export type Running = Services & {
  lock?: InstanceLock;
  logRotation?: LogRotation;
  application?: Application;
  serviceWatch?: ServiceWatch;
  stopWatching?: () => void;
  /** How long the application may drain, in ms. */
  drainMs?: number;
};

const DRAIN_DEFAULT_MS = 30_000;

/**
 * Stops everything: the application drains first (within its time), then Redis stops, then Postgres, then the lock is released.
 * Resolves with false when a part could not be stopped; the others are stopped all the same. Never throws.
 */
export async function shutDown(running: Running, terminal: Terminal): Promise<boolean> {
  const { application, lock } = running;
  running.stopWatching?.();
  await running.serviceWatch?.end();
  const { redis, postgres } = running;
  if (application !== undefined || redis !== undefined || postgres !== undefined) {
    // The empty line also terminates the line on which the terminal shows ^C.
    terminal.print('', `  ${terminal.dim('Stopping')}`);
  }
  let clean = true;
  const part = async (label: string, work: () => Promise<string>) => {
    const step = terminal.step(label);
    try {
      step.done(await work());
    } catch (error) {
      clean = false;
      step.fail();
      terminal.failure(errorMessage(error));
    }
  };
  const stopService = async (service: EmbeddedService) => {
    await service.stop();
    return 'stopped';
  };
  if (lock !== undefined) {
    attempt(() => lock.markStopping());
  }
  if (application !== undefined) {
    await part('App', async () => {
      const drainMs = running.drainMs ?? DRAIN_DEFAULT_MS;
      const drained = await application.stop(drainMs);
      return drained ? 'requests and jobs finished' : `ended after ${drainMs / 1000} s`;
    });
  }
  if (redis !== undefined) {
    await part('Redis', () => stopService(redis));
  }
  if (postgres !== undefined) {
    await part('Postgres', () => stopService(postgres));
  }
  await running.logRotation?.close();
  if (lock !== undefined) {
    attempt(() => lock.release());
  }
  return clean;
}

/** Stops everything without waiting: for the second Ctrl-C. The servers exit on their own, within milliseconds. */
export function endAtOnce(running: Running): void {
  running.application?.kill();
  if (running.redis !== undefined) {
    sendSignal(running.redis.pid, 'SIGTERM');
  }
  if (running.postgres !== undefined) {
    sendSignal(running.postgres.pid, 'SIGINT');
  }
  running.lock?.release();
}

/** A lock file that cannot be written (full disk) must not keep anything running. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The next start recognizes a stale lock.
  }
}
