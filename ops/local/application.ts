import { join } from 'node:path';
import type { StartFailure } from '../embedded/start-failure.ts';
import { followLog } from './follow-log.ts';
import { readLogLine } from './log-line.ts';
import { type ManagedProcess, startManagedProcess } from './managed-process.ts';
import type { Program, Programs } from './programs.ts';
import type { Terminal } from './terminal.ts';

export type Application = {
  /** Resolves when API and worker are ready for the first time; rejects with StartFailure when one gives up before. */
  ready: Promise<void>;
  /** Resolves with the failure when one gives up later. */
  failed: Promise<StartFailure>;
  restart: () => Promise<void>;
  /** Drains both concurrently, each for up to `drainMs`; resolves with false when one had to be killed. */
  stop: (drainMs: number) => Promise<boolean>;
  kill: () => void;
};

export type ApplicationContext = {
  programs: Programs;
  environment: NodeJS.ProcessEnv;
  root: string;
  dataDir: string;
  terminal: Terminal;
  /** Whether to show every log line, as developers want. */
  verbose: boolean;
  onSpawn: (pid: number) => void;
};

const READY_TIMEOUT_MS = 60_000;
const RESTART_DRAIN_MS = 5_000;

type Part = {
  process: ManagedProcess;
  ready: Promise<void>;
  failed: Promise<StartFailure>;
  restart: () => Promise<void>;
  unfollow: () => void;
};

/** Starts API and worker and keeps both running. */
export function startApplication(context: ApplicationContext): Application {
  const parts = [
    startPart('API', 'api', context.programs.api, context),
    startPart('Worker', 'worker', context.programs.worker, context),
  ];
  const forAll = async <Result>(work: (part: Part) => Promise<Result>) => await Promise.all(parts.map(work));
  return {
    ready: forAll((part) => part.ready).then(() => undefined),
    failed: Promise.race(parts.map((part) => part.failed)),
    restart: async () => {
      await forAll((part) => part.restart());
    },
    stop: async (drainMs) => {
      const drained = await forAll((part) => part.process.stop(drainMs));
      for (const part of parts) {
        part.unfollow();
      }
      return drained.every(Boolean);
    },
    kill: () => {
      for (const part of parts) {
        part.process.kill();
      }
    },
  };
}

function startPart(label: string, name: string, program: Program, context: ApplicationContext): Part {
  const { terminal } = context;
  const logFile = join(context.dataDir, 'logs', `${name}.log`);
  let step = terminal.step(label);
  let isReady = false;
  let settle: {
    ready: () => void;
    broken: (failure: StartFailure) => void;
    failed: (failure: StartFailure) => void;
  };
  const ready = new Promise<void>((resolve, reject) => {
    settle = { ready: resolve, broken: reject, failed: () => undefined };
  });
  const failed = new Promise<StartFailure>((resolve) => {
    settle.failed = resolve;
  });
  // The caller may be stopping and no longer waiting for it.
  ready.catch(() => undefined);
  const unfollow = followLog(logFile, (line) => showLine(line, label, isReady, context));
  const plan = {
    label: label === 'API' ? 'The API' : 'The worker',
    ...program,
    environment: context.environment,
    cwd: context.root,
    logFile,
    readyTimeoutMs: READY_TIMEOUT_MS,
  };
  const managed = startManagedProcess(plan, {
    onSpawn: context.onSpawn,
    onReady: (address) => {
      isReady = true;
      step.done(address ?? 'ready');
      settle.ready();
    },
    onCrash: (reason, retryInMs) => {
      if (isReady) {
        isReady = false;
        terminal.warn(`${label} ${reason}`);
        step = terminal.step(label);
      }
      step.update(`${reason}; next attempt in ${retryInMs / 1000} s`);
    },
    onGiveUp: (failure) => {
      step.fail();
      settle.broken(failure);
      settle.failed(failure);
    },
  });
  const restart = async () => {
    if (isReady) {
      isReady = false;
      step = terminal.step(label);
    }
    await managed.restart(RESTART_DRAIN_MS);
  };
  return { process: managed, ready, failed, restart, unfollow };
}

function showLine(line: string, label: string, isReady: boolean, context: ApplicationContext): void {
  if (line.trim() === '') {
    return;
  }
  if (context.verbose) {
    context.terminal.print(`${context.terminal.dim(label.toLowerCase().padEnd(7))}${line}`);
    return;
  }
  const { level, text } = readLogLine(line);
  if (!isReady && level !== 'info') {
    context.terminal.warn(`${label}: ${text.slice(0, 300)}`);
  }
}
