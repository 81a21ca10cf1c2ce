import { collectDefaultMetrics, Registry } from 'prom-client';
import { CatalogSource } from '../catalog/catalog-source.ts';
import { engineFiles, engineMistake } from '../catalog/engine-kinds.ts';
import type { RemoteWorkerConfig } from '../config/remote-worker-config.ts';
import { createLogger } from '../lib/logger.ts';
import { RemoteClaims, type RemoteRun } from '../remote-workers/client/remote-claims.ts';
import { RemoteOutputs } from '../remote-workers/client/remote-outputs.ts';
import { WorkerApiClient } from '../remote-workers/client/worker-api-client.ts';
import { REMOTE_LEASES } from '../remote-workers/remote-leases.ts';
import { EngineRests } from '../tasks/engine-rests.ts';
import { GenerateService } from '../tasks/generate.service.ts';
import { LeaseKeeper } from '../tasks/lease-keeper.ts';
import { LoadedModels } from '../tasks/loaded-models.ts';
import { StorageRetry } from '../tasks/outage-retry.ts';
import { createRunMetrics, registerEngineGauges } from '../telemetry/engine-metrics.ts';
import { registerBuildInfo, registerStorageGauge } from '../telemetry/process-gauges.ts';
import { prepareFolder, removeLeftovers, WORK_FOLDER_MODE, workFolderOf } from './data-folder.ts';
import { composeOwnEngines } from './own-engines.ts';

/**
 * Assembles a worker without a database: it runs the engines of this host and generates like any worker, but makes its claims and stores
 * its files through the API. Throws CatalogError, EngineSettingsError, ConfigError, UnavailableError.
 */
export async function composeRemoteWorker(config: RemoteWorkerConfig, serves: (pool: string) => boolean) {
  const log = createLogger({ name: 'worker', level: config.logLevel });
  const workFolder = workFolderOf(config);
  await prepareFolder(workFolder, WORK_FOLDER_MODE);
  const leftovers = removeLeftovers(config, log);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerBuildInfo(registry);
  const catalogSource = await CatalogSource.open({
    file: config.catalogFile,
    variables: config.variables,
    check: (catalog) => engineMistake(config, catalog),
    filesOf: (catalog) => engineFiles(config, catalog),
    // prices are recorded by the API
    prepare: async () => undefined,
    log,
  });
  const { engines, rooms, ...own } = await composeOwnEngines(
    { config, catalogSource, registry, log },
    serves,
  );
  const workerName = `${config.workerName}.${process.pid}`;
  const api = new WorkerApiClient({ url: config.api, token: config.token, worker: workerName });
  const rests = new EngineRests(engines, log);
  const claims = new RemoteClaims(api, new LoadedModels(engines, rests));
  const leases = new LeaseKeeper(claims, REMOTE_LEASES, log);
  const patience = new StorageRetry(log);
  registerStorageGauge(registry, patience);
  registerEngineGauges(registry, engines, rests);
  const generate = new GenerateService<RemoteRun>(
    {
      ...{ claims, leases, engines, rests, rooms, patience, log },
      endings: claims,
      storage: new RemoteOutputs(api),
      policyOf: (task) => task.policy,
      extraOf: (task) => task.extra,
      onRun: createRunMetrics(registry),
    },
    { workFolder },
  );
  return {
    ...{ workerName, api, claims, leases, engines, rests, rooms, generate, catalogSource, registry, log },
    renewEngines: async () => {
      await own.renew();
      rests.retryMisconfigured();
    },
    close: async () => {
      await Promise.all([catalogSource.close(), leftovers.close()]);
      rests.close();
      await leases.close();
      await api.close();
      await own.close();
    },
  };
}
