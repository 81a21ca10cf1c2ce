import type { Catalog } from '../catalog/catalog.types.ts';
import { composeEngines, type EngineSurroundings, gpuMistake, gpuSharesOf } from '../catalog/engine-kinds.ts';
import type { Config } from '../config/config.ts';
import { freeMemory } from '../engines/gpu-memory.ts';
import { discoverGpus, readGpuMemory, visibleGpus } from '../engines/gpu-slots.ts';
import { EngineSettingsError } from '../engines/registry.ts';
import { superviseEngines } from '../engines/supervision/supervise-engines.ts';
import { GpuRooms } from '../tasks/gpu-rooms.ts';
import {
  createServerStartCounter,
  registerGpuGauge,
  registerServerGauge,
} from '../telemetry/engine-metrics.ts';
import type { Foundation } from './foundation.ts';

/** What the engines of a host are told from outside. */
export type EngineHostConfig = EngineSurroundings & Pick<Config, 'dataFolder' | 'variables'>;

/** The engines of this process, and the servers of those that it starts itself. Throws EngineSettingsError. */
export async function composeOwnEngines(
  {
    config,
    catalogSource,
    registry,
    log,
  }: Pick<Foundation, 'catalogSource' | 'registry' | 'log'> & { readonly config: EngineHostConfig },
  serves: (pool: string) => boolean,
) {
  const gpus = await discoverGpus(visibleGpus(config.variables));
  const sharesOf = (catalog: Pick<Catalog, 'engines'>) => gpuSharesOf(config, catalog, gpus, serves);
  // before servers are started that could not work together
  const shares = sharesOf(catalogSource.current);
  const supervision = await superviseEngines(catalogSource.current.engines, {
    gpus,
    serves,
    dataFolder: config.dataFolder,
    variables: config.variables,
    onStart: createServerStartCounter(registry),
    log,
  });
  registerServerGauge(registry, supervision);
  registerGpuGauge(registry, gpus.length > 0 ? () => readGpuMemory() : async () => []);
  catalogSource.addCheck(
    (catalog) => supervision.mistake(catalog.engines) ?? gpuMistake(config, catalog, gpus, serves),
  );
  const compose = () => composeEngines(config, catalogSource.current, gpus.length, supervision);
  const engines = compose();
  const rooms = new GpuRooms({
    totals: new Map(gpus.map(({ index, memoryMiB }) => [index, memoryMiB])),
    free: (pool, mib) => freeMemory(engines.find(pool), mib),
    log,
  });
  rooms.renew(shares);
  return {
    engines,
    rooms,
    /**
     * Builds the engines of the catalog in force in the place of those before, on which nothing may run any more; servers whose settings
     * are the same go on. Those before stay where the new ones cannot be had.
     */
    renew: async () => {
      try {
        await supervision.renew(catalogSource.current.engines);
        await engines.replace(compose());
        rooms.renew(sharesOf(catalogSource.current));
      } catch (error) {
        if (!(error instanceof EngineSettingsError)) {
          throw error;
        }
        log.error({ error: error.message }, 'the engines stay unchanged');
      }
    },
    close: async () => {
      await rooms.close();
      await engines.close();
      await supervision.close();
    },
  };
}
