import { RedisSettingsError } from '../queues/redis-settings-error.ts';
import { untilRedisWorks } from '../queues/redis-watch.ts';
import { CatalogError } from '../src/catalog/catalog-error.ts';
import { composeFoundation } from '../src/compose/foundation.ts';
import { composeWorker } from '../src/compose/worker.ts';
import { loadConfig } from '../src/config/config.ts';
import { ConfigError } from '../src/config/config-error.ts';
import { isRemoteWorker } from '../src/config/remote-worker-config.ts';
import { EngineSettingsError } from '../src/engines/registry.ts';
import { reloadOnSighup } from '../src/lib/reload-on-sighup.ts';
import { endOnError } from '../src/processes/end-on-error.ts';
import { followCatalog } from './follow-catalog.ts';
import { createJobMetrics } from './job-metrics.ts';
import { PreemptionNotice } from './preemption-notice.ts';
import { parseQueueSelection, QueueSelectionError, servesPool } from './queue-selection.ts';
import { runRemoteWorker } from './remote-worker.ts';
import { queuesServing, serveWithPage } from './worker-process.ts';

/** Entry point of a worker: `main.js [--queues=generate:gpu,postprocess,webhooks,maintenance]`. With WORKER_API it uses no database. */
async function main(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  const hangUp = reloadOnSighup();
  const selection = parseQueueSelection(args);
  if (isRemoteWorker(environment)) {
    await runRemoteWorker(environment, selection, hangUp);
    return;
  }
  const config = loadConfig(environment);
  const foundation = await composeFoundation(config, 'worker');
  const worker = await composeWorker(foundation, {
    serves: (pool) => servesPool(selection, pool),
    postprocesses: selection.families.has('postprocess'),
  });
  const { registry, log } = foundation;
  const { metricsHost } = config;
  const page = {
    ...{ host: metricsHost ?? config.host, port: config.workerPort, registry, log },
    hostSetting: metricsHost === null ? ('HOST' as const) : ('METRICS_HOST' as const),
  };
  const serving = await serveWithPage(page, async () => {
    // nothing runs yet that would have to be given back when the parent exits
    const leave = () => process.exit(0);
    process.once('disconnect', leave);
    await untilRedisWorks(config.redisUrl, config.redisPrefix, log);
    process.off('disconnect', leave);
    const notice = new PreemptionNotice(config.preemption, log);
    const parts = { ...worker.parts, notice, observer: createJobMetrics(registry) };
    const settings = {
      redisUrl: config.redisUrl,
      prefix: config.redisPrefix,
      drainMs: config.drainMs,
      selection,
      workerName: worker.workerName,
    };
    return queuesServing(parts, settings, async () => {
      await notice.close();
      await worker.close();
      await foundation.close();
    });
  });
  followCatalog(foundation.catalogSource, selection, () => serving.restart(worker.renewEngines));
  hangUp.reload(foundation.catalogSource);
}

try {
  await main(process.env, process.argv.slice(2));
} catch (error) {
  endOnError(error, [
    ConfigError,
    CatalogError,
    EngineSettingsError,
    QueueSelectionError,
    RedisSettingsError,
  ]);
}
