import { errorMessage } from '../embedded/error-code.ts';
import { SettingsFailure, StartFailure } from '../embedded/start-failure.ts';
import { type ChildRun, type ProcessPlan, startChildRun } from './child-run.ts';

export type ProcessEvents = {
  onSpawn: (pid: number) => void;
  onReady: (address: string | undefined) => void;
  onCrash: (reason: string, retryInMs: number) => void;
  /** Called when it failed too often in a row without ever being ready, or reported that its settings are wrong. */
  onGiveUp: (failure: StartFailure) => void;
};

export type ManagedProcess = {
  /** Drains the process and starts it again. Resolves when the old one has exited and the new one is starting. */
  restart: (drainMs: number) => Promise<void>;
  /** Drains it for up to `drainMs`, then kills it; resolves with false when it had to be killed. It is not started again. */
  stop: (drainMs: number) => Promise<boolean>;
  /** Kills it at once; it is not started again. */
  kill: () => void;
};

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 30_000;
const ATTEMPTS_MAX = 5;
/** A run that was ready this long counts as successful: the next pause is short again. */
const WORKED_MS = 10_000;

/** Returns the pause in ms before the next attempt after `failures` failures in a row: 0.5 s, doubling up to 30 s. */
export function restartDelayMs(failures: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
}

/** Keeps one child process running: starts it and, after a crash, restarts it with growing pauses. */
export function startManagedProcess(plan: ProcessPlan, events: ProcessEvents): ManagedProcess {
  let run: ChildRun | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let generation = 0;
  let failures = 0;
  let everReady = false;
  let readyAt: number | undefined;

  const fail = (reason: string, final: boolean) => {
    run = undefined;
    const worked = readyAt !== undefined && Date.now() - readyAt >= WORKED_MS;
    readyAt = undefined;
    failures = worked ? 1 : failures + 1;
    if (!everReady && (final || failures >= ATTEMPTS_MAX)) {
      events.onGiveUp(giveUpFailure(plan, reason, failures, final));
      return;
    }
    const pauseMs = restartDelayMs(failures);
    events.onCrash(reason, pauseMs);
    retryTimer = setTimeout(launch, pauseMs);
  };

  const launch = () => {
    generation += 1;
    const mine = generation;
    try {
      run = startChildRun(plan, {
        onReady: (address) => {
          everReady = true;
          readyAt = Date.now();
          events.onReady(address);
        },
        // A requested end belongs to an older generation.
        onEnd: (reason, badSettings) => mine === generation && fail(reason, badSettings),
      });
      if (run.pid !== undefined) {
        events.onSpawn(run.pid);
      }
    } catch (error) {
      fail(errorMessage(error), false);
    }
  };

  const endRun = async (drainMs: number) => {
    clearTimeout(retryTimer);
    generation += 1;
    // The run stays in `run`, where a kill during the drain finds it.
    return run === undefined || (await run.end(drainMs));
  };

  launch();
  return {
    restart: async (drainMs) => {
      const before = generation + 1;
      await endRun(drainMs);
      failures = 0;
      // Skipped if a stop was requested in the meantime.
      if (generation === before) {
        launch();
      }
    },
    stop: endRun,
    kill: () => {
      clearTimeout(retryTimer);
      generation += 1;
      run?.kill();
    },
  };
}

function giveUpFailure(
  plan: ProcessPlan,
  reason: string,
  attempts: number,
  badSettings: boolean,
): StartFailure {
  const times = attempts > 1 ? ` after ${attempts} attempts` : '';
  const Failure = badSettings ? SettingsFailure : StartFailure;
  return new Failure(`${plan.label} does not start${times}, it ${reason}. See its log: ${plan.logFile}`);
}
