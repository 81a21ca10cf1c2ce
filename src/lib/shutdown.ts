import type { Logger } from './logger.ts';

/**
 * Runs `close` on the first SIGTERM, SIGINT, or when the parent process is gone (its IPC channel closes), then exits 0.
 * A second signal exits at once; so does the end of `deadlineMs`: what is unfinished then is repaired by leases.
 */
export function shutDownOnce(deadlineMs: number, log: Logger, close: () => Promise<void>): void {
  const leave = shutDownWhenTold(deadlineMs, log, close);
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
 * The same for a process whose parent decides: by the function returned, which says whether it was the first to ask, or by its end.
 */
export function shutDownWhenTold(
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
