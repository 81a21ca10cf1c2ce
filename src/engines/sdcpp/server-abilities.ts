import { z } from 'zod';
import { EngineError } from '../engine.types.ts';
import type { UpstreamHttp } from '../upstream-http.ts';

/** The members of `GET /sdcpp/v1/capabilities` that we need. Older servers lack some. */
const capabilities = z.looseObject({
  supported_modes: z.array(z.string()).optional(),
  output_formats_by_mode: z.record(z.string(), z.array(z.string())).optional(),
  defaults_by_mode: z
    .record(z.string(), z.looseObject({ video_frames: z.number().optional(), fps: z.number().optional() }))
    .optional(),
});

const NOT_FOUND = 404;
const PATH = '/sdcpp/v1/capabilities';
export const MODES = { image: 'img_gen', video: 'vid_gen' } as const;

/** The abilities of a server with its loaded model. Each is undefined when the server does not report it. */
export interface ServerAbilities {
  /** `img_gen` and `vid_gen`. */
  readonly modes: readonly string[] | undefined;
  /** File formats of videos. */
  readonly videoFormats: readonly string[] | undefined;
  /** Default number of frames, from its command line. */
  readonly videoFrames: number | undefined;
  /** Default frames per second, from its command line. */
  readonly fps: number | undefined;
}

/** Asks the server for its abilities. A server too old for this route reports none. Throws EngineError. */
export async function readAbilities(http: UpstreamHttp, signal: AbortSignal): Promise<ServerAbilities> {
  const { status, json, failure } = await http.call({ method: 'GET', path: PATH, signal });
  if (failure && status !== NOT_FOUND) {
    throw new EngineError(failure);
  }
  const { data } = capabilities.safeParse(json);
  const defaults = data?.defaults_by_mode?.[MODES.video];
  return {
    modes: data?.supported_modes,
    videoFormats: data?.output_formats_by_mode?.[MODES.video],
    videoFrames: defaults?.video_frames,
    fps: defaults?.fps,
  };
}
