import type { Logger } from './logger.ts';

/**
 * Runs `close` on the first SIGTERM or SIGINT, or when the parent process is gone (its IPC channel closes), then exits with 0.
 * A second signal exits at once, and so does the end of `deadlineMs`: expiring leases let another process recover unfinished work.
 */
export function shutDownOnce(deadlineMs: number, log: Logger, close: () => Promise<void>): void {
  const leave = shutDownOnRequest(deadlineMs, log, close);
  const onSignal = (reason: string) => {
    if (!leave(reason)) {
      log.warn({ reason }, 'stopping at once');
      process.exit(1);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/**
 * Like {@link shutDownOnce}, for a process whose parent decides when to stop: shuts down when the returned function is called or when the
 * parent is gone. The function returns whether it was the first to ask.
 */
export function shutDownOnRequest(
  deadlineMs: number,
  log: Logger,
  close: () => Promise<void>,
): (reason: string) => boolean {
  let leaving = false;
  const leave = (reason: string) => {
    if (leaving) {
      return false;
    }
    leaving = true;
    log.info({ reason }, 'shutting down');
    setTimeout(() => {
      log.error({ deadlineMs }, 'shutdown took too long');
      process.exit(1);
    }, deadlineMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error }, 'shutdown failed');
        process.exit(1);
      },
    );
    return true;
  };
  process.on('disconnect', () => leave('the parent process is gone'));
  return leave;
}
