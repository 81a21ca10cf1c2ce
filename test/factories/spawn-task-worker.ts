import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { LeaseSettings } from '../../src/tasks/lease-keeper.ts';
import { compiled } from '../setup/compiled.ts';

export interface WorkerProcessOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly folder: string;
  readonly slots?: number;
  readonly leases?: LeaseSettings;
  readonly drainMs?: number;
  /** The worker kills itself once it has stored this many finished files: between storing and settling. */
  readonly dieAfterFiles?: number;
  readonly engine?: { paid?: boolean; recovers?: boolean };
}

/** Starts a worker process and waits until it reports that it is ready. The caller ends it; it also ends with the test's process. */
export async function spawnTaskWorker(
  options: WorkerProcessOptions,
  args: readonly string[] = [],
): Promise<ChildProcess> {
  const program = await compiled('test/factories/task-worker-process.ts');
  const child = fork(program, [JSON.stringify(options), ...args], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the worker process ended with ${code} before it was ready`);
    }),
  ]);
  if ((message as { type?: string }).type !== 'ready') {
    throw new Error(`unexpected message ${JSON.stringify(message)}`);
  }
  return child;
}

/** Ends a worker process and waits until it has exited. Returns its exit code. */
export async function endWorker(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return child.exitCode;
  }
  const exited = once(child, 'exit');
  child.kill(signal);
  const [code] = (await exited) as [number | null];
  return code;
}
