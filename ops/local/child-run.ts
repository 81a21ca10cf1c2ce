import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { stopProcess } from '../embedded/process-identity.ts';
import { logSize, openLog, readLogFrom } from '../embedded/service-log.ts';
import { lastProblem } from './log-line.ts';

export type ProcessPlan = {
  /** Subject of a sentence: "The API", "The worker". */
  label: string;
  command: string;
  parameters: readonly string[];
  environment: NodeJS.ProcessEnv;
  cwd: string;
  logFile: string;
  readyTimeoutMs: number;
};

export type ChildRun = {
  pid: number | undefined;
  /** Drains it for up to `drainMs`, then kills it; resolves with false when it had to be killed. */
  end: (drainMs: number) => Promise<boolean>;
  kill: () => void;
};

export type ChildRunEvents = {
  onReady: (address: string | undefined) => void;
  /**
   * Called once, for whatever reason it ended. `badSettings` is true when it reported that another attempt would end the same
   * way.
   */
  onEnd: (reason: string, badSettings: boolean) => void;
};

/** The exit code by which a child reports that its settings or its catalog are wrong. */
const EXIT_BAD_SETTINGS = 2;
const KILL_WAIT_MS = 5_000;
const REASON_CHARACTERS_MAX = 300;
/** Ms before the end of a process that was serving in which an error may be the reason: older ones are not why it ended. */
const REASON_WITHIN_MS = 5_000;

/**
 * Starts a child once and reports when it is ready (`{type:'ready', address?}` over IPC) and when it has ended. Its output goes
 * directly to the log file, so it does not depend on us. Throws StartFailure when the log is not writable.
 */
export function startChildRun(plan: ProcessPlan, events: ChildRunEvents): ChildRun {
  const logStart = logSize(plan.logFile);
  let state: 'starting' | 'ready' | 'late' | 'ended' = 'starting';
  const child = spawnChild(plan);
  const readyTimer = setTimeout(() => {
    state = 'late';
    child.kill('SIGKILL');
  }, plan.readyTimeoutMs);
  const end = (reason: string, badSettings: boolean) => {
    clearTimeout(readyTimer);
    if (state !== 'ended') {
      const sinceMs = state === 'ready' ? Date.now() - REASON_WITHIN_MS : undefined;
      state = 'ended';
      const said = lastProblem(readLogFrom(plan.logFile, logStart), sinceMs);
      const problem = said?.slice(0, REASON_CHARACTERS_MAX);
      events.onEnd(problem === undefined ? reason : `${reason}: ${problem}`, badSettings);
    }
  };
  child.on('message', (message: unknown) => {
    if (state === 'starting' && isReady(message)) {
      state = 'ready';
      clearTimeout(readyTimer);
      events.onReady(message.address);
    }
  });
  child.on('error', (error) => end(`could not be executed (${error.message})`, false));
  child.once('close', (code, signal) => {
    const late = `was not ready within ${plan.readyTimeoutMs / 1000} s`;
    const ending = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    end(state === 'late' ? late : ending, state === 'starting' && code === EXIT_BAD_SETTINGS);
  });
  return {
    pid: child.pid,
    end: (drainMs) => drain(child, drainMs),
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}

function spawnChild(plan: ProcessPlan): ChildProcess {
  const log = openLog(plan.logFile);
  try {
    return spawn(plan.command, [...plan.parameters], {
      cwd: plan.cwd,
      env: plan.environment,
      // In a process group of its own: Ctrl-C in the terminal must reach it as our SIGTERM, once and in order.
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    });
  } finally {
    closeSync(log);
  }
}

async function drain(child: ChildProcess, drainMs: number): Promise<boolean> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) {
    return true;
  }
  if (await stopProcess(pid, [{ signal: 'SIGTERM', waitMs: drainMs }])) {
    return true;
  }
  await stopProcess(pid, [{ signal: 'SIGKILL', waitMs: KILL_WAIT_MS }]);
  return false;
}

function isReady(message: unknown): message is { type: 'ready'; address?: string } {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}
