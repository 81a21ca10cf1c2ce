import type { EmbeddedService } from '../embedded/embedded-service.ts';
import { isAlive } from '../embedded/process-identity.ts';
import { StartFailure } from '../embedded/start-failure.ts';
import { type Services, type ServicesContext, startPostgres, startRedis } from './services.ts';

export type ServiceWatch = {
  /** Resolves when a server cannot be brought back, or ends again and again. */
  failed: Promise<StartFailure>;
  /** Ends the watch; must be called before the servers are stopped. */
  end: () => Promise<void>;
};

const CHECK_MS = 500;
const RESTARTS_MAX = 5;
/** After this long without a failure the count begins anew. */
const CALM_MS = 60_000;

/** Starts an embedded server again when it ends by itself. */
export function watchServices(services: Services, context: ServicesContext): ServiceWatch {
  let resolveFailed: (failure: StartFailure) => void = () => undefined;
  const failed = new Promise<StartFailure>((resolve) => {
    resolveFailed = resolve;
  });
  let ended = false;
  let restarts = 0;
  let lastRestart = 0;
  let working: Promise<void> = Promise.resolve();
  let busy = false;

  const revive = async (name: string, before: EmbeddedService, start: () => Promise<EmbeddedService>) => {
    restarts = Date.now() - lastRestart > CALM_MS ? 1 : restarts + 1;
    lastRestart = Date.now();
    if (restarts > RESTARTS_MAX) {
      throw new StartFailure(
        `${name} ended ${restarts} times in a row. Its log is in ${context.settings.dataDir}/logs`,
      );
    }
    context.terminal.warn(`${name} ended by itself, starting it again`);
    const after = await start();
    if (after.port !== before.port) {
      throw new StartFailure(`The port ${before.port} of ${name} was taken by another program. Start again.`);
    }
  };
  const check = async () => {
    const { postgres, redis } = services;
    if (postgres !== undefined && !isAlive(postgres.pid)) {
      await revive('Postgres', postgres, () => startPostgres(services, context));
    }
    if (redis !== undefined && !isAlive(redis.pid)) {
      await revive('Redis', redis, () => startRedis(services, context));
    }
  };
  const timer = setInterval(() => {
    if (busy || ended) {
      return;
    }
    busy = true;
    working = check()
      .catch((error: unknown) => {
        ended = true;
        resolveFailed(error instanceof StartFailure ? error : new StartFailure(String(error)));
      })
      .finally(() => {
        busy = false;
      });
  }, CHECK_MS);
  return {
    failed,
    end: async () => {
      ended = true;
      clearInterval(timer);
      await working;
    },
  };
}
