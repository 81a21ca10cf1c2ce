import { z } from 'zod';
import { EngineError } from '../engine.types.ts';
import type { UpstreamHttp } from '../upstream-http.ts';

/** `GET /sdcpp/v1/capabilities` as far as orders need it; older servers lack members. */
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

/** What the server with its loaded model can do. */
export interface ServerAbilities {
  /** `img_gen`, `vid_gen`; undefined: it does not say. */
  readonly modes: readonly string[] | undefined;
  /** Formats of videos; undefined: it does not say. */
  readonly videoFormats: readonly string[] | undefined;
  /** Frames and frames per second of its own, by its command line; undefined: it does not say. */
  readonly videoFrames: number | undefined;
  readonly fps: number | undefined;
}

/** Asks the server; one that is too old to answer says nothing. Throws EngineError. */
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
