import type { Logger } from './logger.ts';

/**
 * Runs `close` on the first SIGTERM, SIGINT, or when the parent process is gone (its IPC channel closes), then exits 0.
 * A second signal exits at once; so does the end of `deadlineMs`: what is unfinished then is repaired by leases.
 */
export function shutDownOnce(deadlineMs: number, log: Logger, close: () => Promise<void>): void {
  let leaving = false;
  const leave = (reason: string) => {
    if (leaving) {
      log.warn({ reason }, 'leaving at once');
      process.exit(1);
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
  };
  process.on('SIGTERM', () => leave('SIGTERM'));
  process.on('SIGINT', () => leave('SIGINT'));
  process.on('disconnect', () => {
    if (!leaving) {
      leave('the parent process is gone');
    }
  });
}
