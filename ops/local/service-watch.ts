import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbeddedService } from '../embedded/embedded-service.ts';
import { isAlive } from '../embedded/process-identity.ts';
import { StartFailure } from '../embedded/start-failure.ts';

/** An embedded server to keep running. */
export type WatchedService = {
  name: string;
  /** The server that is running, or ran last; undefined if there is none. */
  current: () => EmbeddedService | undefined;
  start: () => Promise<EmbeddedService>;
  logFile: string;
};

export type ServiceWatch = {
  /** Resolves when a server cannot be restarted, or exits again and again. */
  failed: Promise<StartFailure>;
  /** Stops watching; must be called before the servers are stopped. */
  end: () => Promise<void>;
};

type WatchOptions = {
  warn: (text: string) => void;
  /** Pause in ms before the next start, after this many exits and failed starts in a row. */
  pauseMs?: (failures: number) => number;
  /** Interval between checks, in ms. */
  lookMs?: number;
};

const LOOK_MS = 500;
const FAILURES_MAX = 5;
/** A server that ran this long counts as working: the count of failures restarts. */
const CALM_MS = 60_000;

/**
 * Restarts a server that exits: at once, then after growing pauses, since a full disk or a machine out of memory may recover in a
 * moment. Gives up after five exits and failed starts without a minute of operation in between.
 */
export function watchServices(services: readonly WatchedService[], options: WatchOptions): ServiceWatch {
  const ending = new AbortController();
  const watches = services.map((service) => new Watch(service, options, ending.signal));
  let resolveFailed: (failure: StartFailure) => void = () => undefined;
  const failed = new Promise<StartFailure>((resolve) => {
    resolveFailed = resolve;
  });
  const over = watches.map((watch) =>
    watch.keep().catch((error: unknown) => {
      if (!ending.signal.aborted) {
        resolveFailed(error instanceof StartFailure ? error : new StartFailure(String(error)));
      }
    }),
  );
  return {
    failed,
    end: async () => {
      ending.abort();
      await Promise.all(over);
    },
  };
}

/** Returns the pause in ms: none, 2 s, 4 s, 8 s, 16 s. */
export function restartPauseMs(failures: number): number {
  return failures <= 1 ? 0 : 1_000 * 2 ** (failures - 1);
}

class Watch {
  readonly #service: WatchedService;
  readonly #options: WatchOptions;
  readonly #ending: AbortSignal;
  #failures = 0;
  /** When it was last restarted, in ms since the epoch. */
  #startedAt = 0;

  constructor(service: WatchedService, options: WatchOptions, ending: AbortSignal) {
    this.#service = service;
    this.#options = options;
    this.#ending = ending;
  }

  /** Watches the server until an error: StartFailure, or the abort. */
  async keep(): Promise<never> {
    while (true) {
      await sleep(this.#options.lookMs ?? LOOK_MS, undefined, { signal: this.#ending });
      const before = this.#service.current();
      if (before !== undefined && !isAlive(before.pid)) {
        await this.#revive(before);
      }
    }
  }

  async #revive(before: EmbeddedService): Promise<void> {
    const { name, logFile } = this.#service;
    if (Date.now() - this.#startedAt > CALM_MS) {
      this.#failures = 0;
    }
    let reason: string | undefined;
    while (true) {
      this.#failures += 1;
      if (this.#failures > FAILURES_MAX) {
        const why = reason ?? `It exited unexpectedly. See its log: ${logFile}`;
        throw new StartFailure(`Gave up after ${FAILURES_MAX} attempts to start ${name} again. ${why}`);
      }
      const pauseMs = (this.#options.pauseMs ?? restartPauseMs)(this.#failures);
      const when = pauseMs === 0 ? '' : ` in ${pauseMs / 1_000} s`;
      this.#options.warn(
        reason === undefined
          ? `${name} exited unexpectedly, restarting it${when}`
          : `${reason} Starting ${name} again${when}`,
      );
      await sleep(pauseMs, undefined, { signal: this.#ending });
      const after = await this.#service.start().catch((error: unknown) => {
        if (!(error instanceof StartFailure)) {
          throw error;
        }
        return error;
      });
      if (!(after instanceof StartFailure)) {
        return this.#accept(before, after);
      }
      reason = after.message;
    }
  }

  #accept(before: EmbeddedService, after: EmbeddedService): void {
    if (after.port !== before.port) {
      const { name } = this.#service;
      throw new StartFailure(`The port ${before.port} of ${name} was taken by another program. Start again.`);
    }
    this.#startedAt = Date.now();
  }
}
