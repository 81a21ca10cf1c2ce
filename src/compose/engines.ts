import { BuiltinEngine } from '../engines/builtin/builtin-engine.ts';
import { buildEngines, type EngineKind, type EngineRegistry } from '../engines/registry.ts';
import { createFfmpeg, type Ffmpeg } from '../media/ffmpeg.ts';
import { encodePng } from '../media/image.ts';
import type { Foundation } from './foundation.ts';

/** The engines that tollgate.yaml may name. None opens anything before it is used. */
export function composeEngines({ config, catalogSource }: Foundation, gpus: number): EngineRegistry {
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
  ]);
  return buildEngines(catalogSource.current.engines, kinds, gpus);
}

export function composeFfmpeg(config: Foundation['config']): Ffmpeg {
  return createFfmpeg({ ffmpegPath: config.ffmpegPath, ffprobePath: config.ffprobePath });
}
