import type { Catalog } from '../catalog/catalog.types.ts';
import { composeEngines, type EngineSurroundings, gpuMistake, gpuSharesOf } from '../catalog/engine-kinds.ts';
import type { Config } from '../config/config.ts';
import { freeMemory } from '../engines/gpu-memory.ts';
import { discoverGpus, readGpuMemory, visibleGpus } from '../engines/gpu-slots.ts';
import { EngineSettingsError } from '../engines/registry.ts';
import { superviseEngines } from '../engines/supervision/supervise-engines.ts';
import { GpuMemoryGate } from '../tasks/gpu-memory-gate.ts';
import {
  createServerStartCounter,
  registerGpuGauge,
  registerServerGauge,
} from '../telemetry/engine-metrics.ts';
import type { Foundation } from './foundation.ts';

/** The configuration that the engines of a host need. */
export type EngineHostConfig = EngineSurroundings & Pick<Config, 'dataFolder' | 'variables'>;

/** Creates the engines of this process and starts the servers it supervises. Throws EngineSettingsError. */
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
  // checked before any server starts: together they might not fit into the GPU memory
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
  const rooms = new GpuMemoryGate({
    totals: new Map(gpus.map(({ index, memoryMiB }) => [index, memoryMiB])),
    free: (pool, mib) => freeMemory(engines.find(pool), mib),
    log,
  });
  rooms.renew(shares);
  return {
    engines,
    rooms,
    /**
     * Replaces the engines with those of the catalog in force. Nothing may be running on the old ones. Servers whose settings did not
     * change keep running. If the new engines cannot be created, the old ones stay.
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
        log.error({ error: error.message }, 'engines not replaced, the old ones stay in use');
      }
    },
    close: async () => {
      await rooms.close();
      await engines.close();
      await supervision.close();
    },
  };
}
