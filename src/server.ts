import cluster from 'node:cluster';
import { RedisSettingsError } from '../queues/redis-settings-error.ts';
import { CatalogError } from './catalog/catalog-error.ts';
import { loadConfig } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import { createLogger } from './lib/logger.ts';
import { ApiSlot, SLOT_VARIABLE } from './processes/api-slot.ts';
import { endOnError } from './processes/end-on-error.ts';
import { shutdownMs } from './processes/shutdown-time.ts';

/** Extra ms a process gets beyond its own shutdown deadline before it is killed. */
const KILL_AFTER_MS = 2_000;

/** Entry point of the API: one process, or a primary that supervises several. Each loads only the modules it needs. */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig(environment);
  const { apiProcesses: processes, listenSocket, drainMs, logLevel } = config;
  if (processes > 1 && cluster.isPrimary) {
    const { keepApiProcesses } = await import('./processes/api-cluster.ts');
    const log = createLogger({ name: 'api', level: logLevel });
    await keepApiProcesses({
      processes,
      listenSocket,
      shutdownMs: shutdownMs(drainMs) + KILL_AFTER_MS,
      log,
    });
  } else {
    const slot = cluster.isWorker ? new ApiSlot(Number(environment[SLOT_VARIABLE])) : undefined;
    const { serveApi } = await import('./api-process.ts');
    await serveApi(config, slot);
  }
}

try {
  await main(process.env);
} catch (error) {
  endOnError(error, [ConfigError, CatalogError, RedisSettingsError]);
}
