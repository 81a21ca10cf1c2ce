import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbeddedService } from '../embedded/embedded-service.ts';
import { isAlive } from '../embedded/process-identity.ts';
import { StartFailure } from '../embedded/start-failure.ts';

/** An embedded server that is to be kept running. */
export type WatchedService = {
  name: string;
  /** What runs now, or ran last; undefined where there is none. */
  current: () => EmbeddedService | undefined;
  start: () => Promise<EmbeddedService>;
  logFile: string;
};

export type ServiceWatch = {
  /** Resolves when a server cannot be brought back, or ends again and again. */
  failed: Promise<StartFailure>;
  /** Ends the watch; must be called before the servers are stopped. */
  end: () => Promise<void>;
};

type WatchOptions = {
  warn: (text: string) => void;
  /** Ms before the next start, after so many ends and failed starts in a row. */
  pauseMs?: (failures: number) => number;
  /** Ms between two looks. */
  lookMs?: number;
};

const LOOK_MS = 500;
const FAILURES_MAX = 5;
/** A server that ran this long has worked: the count begins anew. */
const CALM_MS = 60_000;

/**
 * Starts a server again when it ends by itself: at once, then after growing pauses, since a disk that is full or a machine without
 * memory may have room again in a moment. Gives up after five ends and failed starts without a minute of work between.
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

/** Ms: none, 2 s, 4 s, 8 s, 16 s. */
export function restartPauseMs(failures: number): number {
  return failures <= 1 ? 0 : 1_000 * 2 ** (failures - 1);
}

class Watch {
  readonly #service: WatchedService;
  readonly #options: WatchOptions;
  readonly #ending: AbortSignal;
  #failures = 0;
  /** When it was last started again, in ms since the epoch. */
  #startedAt = 0;

  constructor(service: WatchedService, options: WatchOptions, ending: AbortSignal) {
    this.#service = service;
    this.#options = options;
    this.#ending = ending;
  }

  /** Ends by an error only: StartFailure, or the abort. */
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
        const why = reason ?? `It ended by itself. Its log is ${logFile}`;
        throw new StartFailure(`Gave up after ${FAILURES_MAX} attempts to start ${name} again. ${why}`);
      }
      const pauseMs = (this.#options.pauseMs ?? restartPauseMs)(this.#failures);
      const when = pauseMs === 0 ? '' : ` in ${pauseMs / 1_000} s`;
      this.#options.warn(
        reason === undefined
          ? `${name} ended by itself, starting it again${when}`
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
