import { dirname } from 'node:path';
import { BuiltinEngine } from '../engines/builtin/builtin-engine.ts';
import { comfyUiKind } from '../engines/comfyui/comfyui-engine.ts';
import { falKind } from '../engines/fal/fal-engine.ts';
import { novitaKind } from '../engines/novita/novita-engine.ts';
import { openAiKind } from '../engines/openai/openai-engine.ts';
import { buildEngines, type EngineKind, type EngineRegistry } from '../engines/registry.ts';
import { sdCppKind } from '../engines/sdcpp/sdcpp-engine.ts';
import { EngineSupervision } from '../engines/supervision/supervise-engines.ts';
import { createFfmpeg, type Ffmpeg } from '../media/ffmpeg.ts';
import { encodePng } from '../media/image.ts';
import type { Foundation } from './foundation.ts';

/**
 * The engines that tollgate.yaml may name. None opens anything before it is used. Those with a `process` work where `supervision`
 * has started it; elsewhere they only tell what they can do.
 */
export function composeEngines(
  { config, catalogSource }: Foundation,
  gpus: number,
  supervision = new EngineSupervision(),
): EngineRegistry {
  const ffmpeg = composeFfmpeg(config);
  const kinds = new Map<string, EngineKind>([
    [
      'builtin',
      {
        slotsDefault: 2,
        create: ({ id }) =>
          new BuiltinEngine({ id, encoders: { encodePng, encodeFrames: ffmpeg.encodeFrames } }),
      },
    ],
    ['comfyui', comfyUiKind(dirname(config.catalogFile))],
    ['sdcpp', sdCppKind],
    ['openai', openAiKind],
    ['novita', novitaKind],
    ['fal', falKind],
  ]);
  const entries = supervision.resolve(catalogSource.current.engines);
  return buildEngines(entries, supervision.extend(kinds), gpus);
}

export function composeFfmpeg(config: Foundation['config']): Ffmpeg {
  return createFfmpeg({ ffmpegPath: config.ffmpegPath, ffprobePath: config.ffprobePath });
}
