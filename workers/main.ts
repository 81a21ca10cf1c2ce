import { RedisSettingsError } from '../queues/inspect-redis.ts';
import { untilRedisWorks } from '../queues/redis-watch.ts';
import type { Catalog } from '../src/catalog/catalog.types.ts';
import { CatalogError } from '../src/catalog/catalog-error.ts';
import type { CatalogSource } from '../src/catalog/catalog-source.ts';
import { composeFoundation, REDIS_PREFIX } from '../src/compose/foundation.ts';
import { composeWorker } from '../src/compose/worker.ts';
import { ConfigError, loadConfig } from '../src/config/config.ts';
import { EngineSettingsError } from '../src/engines/registry.ts';
import { followHangUp } from '../src/lib/hang-up.ts';
import { createJobMetrics } from './job-metrics.ts';
import { startMetricsServer } from './metrics-server.ts';
import { PreemptionNotice } from './preemption-notice.ts';
import {
  parseQueueSelection,
  type QueueSelection,
  QueueSelectionError,
  servesPool,
} from './queue-selection.ts';
import { runWorkerProcess } from './worker-process.ts';

/** Entry of a worker process: `main.js [--queues=generate:gpu,postprocess,webhooks,maintenance]`. */
async function main(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  const hangUp = followHangUp();
  const selection = parseQueueSelection(args);
  const config = loadConfig(environment);
  const foundation = await composeFoundation(config, 'worker');
  const worker = await composeWorker(foundation, {
    serves: (pool) => servesPool(selection, pool),
    postprocesses: selection.families.has('postprocess'),
  });
  const { registry, log } = foundation;
  const page = await startMetricsServer({ host: config.host, port: config.workerPort, registry, log });
  // nothing runs yet that would have to be given back when the parent goes
  const leave = () => process.exit(0);
  process.once('disconnect', leave);
  await untilRedisWorks(config.redisUrl, REDIS_PREFIX, log);
  process.off('disconnect', leave);
  const notice = new PreemptionNotice(config.preemption, log);
  const parts = { ...worker.parts, notice, observer: createJobMetrics(registry) };
  const settings = {
    redisUrl: config.redisUrl,
    prefix: REDIS_PREFIX,
    drainMs: config.drainMs,
    selection,
    workerName: worker.workerName,
  };
  const running = runWorkerProcess(parts, settings, async () => {
    await notice.close();
    page.close();
    await worker.close();
    await foundation.close();
  });
  followCatalog(foundation.catalogSource, selection, () => running.restart(worker.renewEngines));
  hangUp.reload(foundation.catalogSource);
}

/** Serves by the engines of each catalog that comes into force. What is sold for how much is the API's. */
function followCatalog(source: CatalogSource, { pools }: QueueSelection, restart: () => void): void {
  const enginesOf = ({ engines, engineFiles }: Catalog): string => JSON.stringify([engines, engineFiles]);
  let engines = enginesOf(source.current);
  source.addCheck((catalog) => {
    const named = pools === 'all' ? [] : pools;
    const missing = named.find((pool) => !catalog.engines.some(({ id }) => id === pool));
    return missing === undefined ? undefined : `engines: lack ${missing}, which this worker serves`;
  });
  source.onChange((catalog) => {
    const changed = enginesOf(catalog);
    if (changed !== engines) {
      engines = changed;
      restart();
    }
  });
  source.watch();
}

/** Configuration errors: print one line, exit 2. */
const EXPECTED = [ConfigError, CatalogError, EngineSettingsError, QueueSelectionError, RedisSettingsError];

try {
  await main(process.env, process.argv.slice(2));
} catch (error) {
  const expected = EXPECTED.some((kind) => error instanceof kind);
  process.stderr.write(
    `${expected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`,
  );
  process.exit(expected ? 2 : 1);
}
