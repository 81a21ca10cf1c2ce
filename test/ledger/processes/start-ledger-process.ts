import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { compiled } from '../../setup/compiled.ts';
import type { LedgerOrder } from './ledger-process.ts';

/** Starts a ledger in its own process, connected to `databaseUrl`. Resolves when it takes orders. */
export async function startLedgerProcess(databaseUrl: string): Promise<ChildProcess> {
  const child = fork(await compiled('test/ledger/processes/ledger-process.ts'), {
    execArgv: [],
    env: { ...process.env, LEDGER_DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

/** Sends an order and waits for its answer. */
export async function ask<Answer>(child: ChildProcess, order: LedgerOrder): Promise<Answer> {
  const answer = once(child, 'message');
  child.send(order);
  const [result] = await answer;
  return result as Answer;
}

/** Stops a process and waits until it has exited. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}
