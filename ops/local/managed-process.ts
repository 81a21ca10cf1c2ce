import { errorMessage } from '../embedded/error-code.ts';
import { SettingsFailure, StartFailure } from '../embedded/start-failure.ts';
import { type ChildRun, type ProcessPlan, startChildRun } from './child-run.ts';

export type ProcessEvents = {
  onSpawn: (pid: number) => void;
  onReady: (address: string | undefined) => void;
  onCrash: (reason: string, retryInMs: number) => void;
  /** It failed too often in a row without ever being ready, or said that its settings are wrong. */
  onGiveUp: (failure: StartFailure) => void;
};

export type ManagedProcess = {
  /** Lets it drain and starts it again. Resolves when the old one is gone and the new one begins. */
  restart: (drainMs: number) => Promise<void>;
  /** Lets it drain up to `drainMs`, then kills it; false when it had to be killed. It is not started again. */
  stop: (drainMs: number) => Promise<boolean>;
  /** Ends it at once and for good. */
  kill: () => void;
};

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 30_000;
const ATTEMPTS_MAX = 5;
/** A run that was ready this long has worked: the next pause is short again. */
const WORKED_MS = 10_000;

/** Pause in ms before the next attempt after `failures` failures in a row: 0.5 s, doubled up to 30 s. */
export function backoffMs(failures: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
}

/** Keeps one child process running: starts it and, after a crash, starts it again with growing pauses. */
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
    const pauseMs = backoffMs(failures);
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
        // An end that was asked for belongs to an older generation.
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
    // It stays in `run`, where a kill during the drain finds it.
    return run === undefined || (await run.end(drainMs));
  };

  launch();
  return {
    restart: async (drainMs) => {
      const before = generation + 1;
      await endRun(drainMs);
      failures = 0;
      // Not when a stop came in the meantime.
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
  return new Failure(`${plan.label} does not start${times}, it ${reason}. Its log is ${plan.logFile}`);
}
