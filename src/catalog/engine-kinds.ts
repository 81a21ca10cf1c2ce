import { dirname } from 'node:path';
import { BuiltinEngine } from '../engines/builtin/builtin-engine.ts';
import { comfyUiKind } from '../engines/comfyui/comfyui-engine.ts';
import type { Engine } from '../engines/engine.types.ts';
import { falKind } from '../engines/fal/fal-engine.ts';
import { type GpuNeed, type GpuShare, parseGpuMemory, planGpuMemory } from '../engines/gpu-memory.ts';
import type { Gpu } from '../engines/gpu-slots.ts';
import { httpKind } from '../engines/http/http-engine.ts';
import { novitaKind } from '../engines/novita/novita-engine.ts';
import { openAiKind } from '../engines/openai/openai-engine.ts';
import {
  buildEngines,
  type EngineKind,
  type EngineRegistry,
  EngineSettingsError,
} from '../engines/registry.ts';
import { sdCppKind } from '../engines/sdcpp/sdcpp-engine.ts';
import { parseProcess } from '../engines/supervision/process-settings.ts';
import { EngineSupervision } from '../engines/supervision/supervise-engines.ts';
import { createFfmpeg } from '../media/ffmpeg.ts';
import { encodePng } from '../media/image.ts';
import type { Catalog } from './catalog.types.ts';
import type { CatalogSource } from './catalog-source.ts';
import { areListed, type MediaOptions, type MediaSize } from './media-options.ts';

export interface EngineSurroundings {
  /** Path of tollgate.yaml. Files that it refers to are relative to its folder. */
  readonly catalogFile: string;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
}

/**
 * Creates the engines of a catalog; `slots: auto` means one slot per GPU. None opens anything before it is used. Engines with a `process`
 * work only where `supervision` has started it; elsewhere they only report their capabilities. Throws EngineSettingsError.
 */
export function composeEngines(
  surroundings: EngineSurroundings,
  { engines }: Pick<Catalog, 'engines'>,
  gpus: number,
  supervision = new EngineSupervision(),
): EngineRegistry {
  return buildEngines(supervision.resolve(engines), supervision.extend(engineKinds(surroundings)), gpus);
}

/** Returns the paths of the files that a catalog's engines refer to. They count as part of the catalog. */
export function engineFiles(
  surroundings: EngineSurroundings,
  { engines }: Pick<Catalog, 'engines'>,
): string[] {
  const kinds = engineKinds(surroundings);
  return engines.flatMap((entry) => kinds.get(entry.kind)?.files?.(entry) ?? []);
}

/**
 * Returns the GPU memory that the engines served on this host use, for entries that declare it. Throws EngineSettingsError if they can
 * never fit.
 */
export function gpuSharesOf(
  surroundings: EngineSurroundings,
  { engines }: Pick<Catalog, 'engines'>,
  gpus: readonly Gpu[],
  serves: (pool: string) => boolean,
): GpuShare[] {
  const kinds = engineKinds(surroundings);
  const needs = engines.flatMap((entry): GpuNeed[] => {
    const memory = serves(entry.id) ? parseGpuMemory(entry) : undefined;
    const process = parseProcess(entry);
    const servers = process && (process.gpus ?? gpus.map(({ index }) => index));
    return memory ? [{ ...memory, pool: entry.id, servers, keeps: !kinds.get(entry.kind)?.freesMemory }] : [];
  });
  return planGpuMemory(needs, gpus);
}

/** Returns why those shares can never fit, in one line; undefined if they can. */
export function gpuMistake(...plan: Parameters<typeof gpuSharesOf>): string | undefined {
  try {
    gpuSharesOf(...plan);
    return undefined;
  } catch (error) {
    if (error instanceof EngineSettingsError) {
      return error.message;
    }
    throw error;
  }
}

/** Creates the engines of each catalog that takes effect, for a process that only needs their capabilities. */
export function followEngines(surroundings: EngineSurroundings, source: CatalogSource): EngineRegistry {
  const engines = composeEngines(surroundings, source.current, 1);
  source.onChange((catalog) => void engines.replace(composeEngines(surroundings, catalog, 1)));
  return engines;
}

/** Returns what is wrong with a catalog's engines or a model's route to one, in one line; undefined if nothing is. */
export function engineMistake(surroundings: EngineSurroundings, catalog: Catalog): string | undefined {
  let engines: EngineRegistry;
  try {
    for (const entry of catalog.engines) {
      parseProcess(entry);
    }
    engines = composeEngines(surroundings, catalog, 1);
  } catch (error) {
    if (error instanceof EngineSettingsError) {
      return error.message;
    }
    throw error;
  }
  try {
    return routeMistake(engines, catalog);
  } finally {
    // nothing was opened; a registry's close never rejects
    void engines.close();
  }
}

function routeMistake(engines: EngineRegistry, { models }: Catalog): string | undefined {
  for (const { id, endpoints, engines: routes, media } of models.values()) {
    const kind = endpoints.includes('video') ? 'video' : 'image';
    for (const [index, route] of routes.entries()) {
      const engine = engines.find(route.engine);
      const path = `models.${id}.routes[${index}]`;
      if (engine && !engine.capabilities.kinds.includes(kind)) {
        return `${path}.engine: ${engine.id} does not make ${kind}s`;
      }
      const mistake = engine?.modelError?.(route.model, kind);
      if (mistake !== undefined) {
        return `${path}.model: ${mistake}`;
      }
      const size = engine && media && sizeMistake(engine, media);
      if (size !== undefined) {
        return `${path}.engine: ${size}`;
      }
    }
  }
  return undefined;
}

/**
 * Returns why an engine cannot make a size that the model declares: each such order would be accepted and fail. A model that declares none
 * offers what the interface fixes, and its engine may serve part of that.
 */
function sizeMistake(engine: Engine, { declared, sizes }: MediaOptions): string | undefined {
  if (!declared) {
    return undefined;
  }
  const sides = areListed(sizes) ? [] : [sizes.max, sizes.min];
  const offered = areListed(sizes)
    ? sizes
    : sides.flatMap((width) => sides.map((height): MediaSize => ({ width, height })));
  return offered.map((size) => engine.sizeError?.(size)).find((mistake) => mistake !== undefined);
}

function engineKinds({ catalogFile, ffmpegPath, ffprobePath }: EngineSurroundings): Map<string, EngineKind> {
  const ffmpeg = createFfmpeg({ ffmpegPath, ffprobePath });
  return new Map<string, EngineKind>([
    [
      'builtin',
      {
        slotsDefault: 2,
        create: ({ id }) =>
          new BuiltinEngine({ id, encoders: { encodePng, encodeFrames: ffmpeg.encodeFrames } }),
      },
    ],
    ['comfyui', comfyUiKind(dirname(catalogFile))],
    ['sdcpp', sdCppKind],
    ['openai', openAiKind],
    ['novita', novitaKind],
    ['fal', falKind],
    ['http', httpKind],
  ]);
}
