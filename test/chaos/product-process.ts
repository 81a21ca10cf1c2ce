import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { API_NODE_OPTIONS } from '../../ops/local/programs.ts';

/** A start takes seconds; on a machine with too much to do, minutes. */
const READY_TIMEOUT_MS = 180_000;

/** Running processes. A frozen one would outlive this process, because it cannot notice that this process is gone. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) {
    child.kill('SIGKILL');
  }
});

/** A process of the compiled product. It ends when this process is gone. */
export class ProductProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts a script below `dist/` and waits until it reports that it is ready. Throws when it ends first. */
  static async start(
    product: string,
    script: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
    logFile: string,
  ): Promise<ProductProcess> {
    const log = openSync(logFile, 'a');
    const child = fork(join(product, 'dist', script), [...args], {
      cwd: product,
      execArgv: ['--enable-source-maps', ...(script === 'src/server.js' ? API_NODE_OPTIONS : [])],
      env: environment,
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    running.add(child);
    child.once('exit', () => running.delete(child));
    const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
    const failed = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`${script} ended with ${code} before it was ready; its log is ${logFile}`);
    });
    failed.catch(() => undefined);
    await Promise.race([once(child, 'message', { signal }), failed]);
    return new ProductProcess(child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends a signal that does not end the process: SIGSTOP, SIGCONT. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Sends SIGKILL; resolves when the process has ended. */
  kill(): Promise<number | null> {
    return this.#end('SIGKILL');
  }

  /** Sends SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  async #end(name: NodeJS.Signals): Promise<number | null> {
    if (this.isAlive) {
      const gone = once(this.#child, 'exit');
      this.#child.kill(name);
      await gone;
    }
    return this.#child.exitCode;
  }
}
