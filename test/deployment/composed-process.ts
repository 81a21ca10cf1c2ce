import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ComposeFile } from './compose-file.ts';

/** A service of docker-compose.yml, run as a plain process. */
export interface ComposedProcess {
  readonly pid: number;
  /** Standard output and error so far. */
  output(): string;
  /** Resolves to the exit code. */
  readonly exited: Promise<number | null>;
  /** Sends SIGTERM like `docker stop`; resolves to the exit code. */
  stop(): Promise<number | null>;
  kill(): void;
}

/** Starts a service's command with its environment. `outside` replaces what only exists in a container: host names, ports, folders. */
export function startService(
  compose: ComposeFile,
  name: string,
  folder: string,
  outside: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): ComposedProcess {
  const service = compose.services[name];
  const [program, ...rest] = service?.command ?? [];
  if (program !== 'node') {
    throw new Error(`the command of ${name} is ${program} instead of node`);
  }
  const child = spawn(process.execPath, [...rest, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...service?.environment, ...outside },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return handle(child);
}

function handle(child: ChildProcess): ComposedProcess {
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    output: () => text,
    exited,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: () => child.kill('SIGKILL'),
  };
}

/** Ends a wait for what never starts, in ms. Seven processes at once on two slow cores took more than a minute. */
const START_MS = 180_000;

/** Waits until the address answers 200. Throws with the process's output when it ends or takes too long. */
export async function untilReady(
  started: ComposedProcess,
  url: string,
  milliseconds = START_MS,
): Promise<void> {
  await untilTrue(started, milliseconds, async () => {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  });
}

/** Waits until the process has printed the words. Throws like {@link untilReady}. */
export async function untilSaid(
  started: ComposedProcess,
  words: string,
  milliseconds = START_MS,
): Promise<void> {
  await untilTrue(started, milliseconds, async () => started.output().includes(words));
}

async function untilTrue(
  started: ComposedProcess,
  milliseconds: number,
  condition: () => Promise<boolean>,
): Promise<void> {
  let ended = false;
  void started.exited.then(() => {
    ended = true;
  });
  const deadline = Date.now() + milliseconds;
  while (!(await condition())) {
    if (ended || Date.now() > deadline) {
      throw new Error(`not ready${ended ? ', the process ended' : ''}:\n${started.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
