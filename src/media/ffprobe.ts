import { spawn } from 'node:child_process';
import { watchChild } from './child-watch.ts';
import type { VideoContainer } from './file-signature.ts';
import { MediaError } from './media-error.ts';
import { toolFailure } from './tool-failure.ts';

export interface VideoProbe {
  readonly codec: string;
  readonly pixelFormat: string;
  /** As shown, with a rotation of the container. */
  readonly width: number;
  readonly height: number;
  /** Whether it is shown differently from how it is coded: rotated, or with non-square pixels. */
  readonly distorted: boolean;
  readonly durationMs: number;
  /** Exact when the container states the number of frames, else duration × rate. */
  readonly frames: number;
  readonly audioCodec: string | undefined;
}

export interface ProbeOptions {
  readonly container: VideoContainer;
  /** Maximum number of pixels per frame that the decoder may allocate. */
  readonly pixelsMax: number;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;

/**
 * The allowed decoders: those for what engines and services actually send. Includes the names used by ffmpeg 4 to 7. ffprobe opens the
 * decoder of every track, so those for subtitles are needed to read a video whose subtitles are left out.
 */
export const DECODERS = [
  'h264,hevc,vp8,vp9,libvpx,libvpx-vp9,av1,libdav1d,libaom-av1,mpeg4,mjpeg,png,rawvideo',
  'aac,mp3,mp3float,opus,libopus,vorbis,libvorbis,flac,ac3,eac3,alac',
  'pcm_u8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_f32le',
  'mov_text,subrip,srt,ass,ssa,webvtt',
].join(',');
const NOT_ALLOWED = /Codec \((\w+)\) not on whitelist/;

/**
 * Reads the properties of a video with ffprobe: forced demuxer, no network, allow-listed decoders, its own deadline. Throws {@link
 * MediaError} media_corrupt, media_type_refused, media_tool_missing, media_tool_killed or media_tool_timeout, or the signal's reason.
 */
export async function probeVideo(
  ffprobePath: string,
  path: string,
  options: ProbeOptions,
): Promise<VideoProbe> {
  const { container, pixelsMax, signal } = options;
  signal.throwIfAborted();
  const child = spawn(
    ffprobePath,
    [
      ['-v', 'error', '-protocol_whitelist', 'file', '-codec_whitelist', DECODERS],
      ['-max_pixels', String(pixelsMax), '-f', container],
      ['-show_streams', '-show_format', '-of', 'json', '-i', path],
    ].flat(),
    { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true },
  );
  let startError: unknown;
  child.once('error', (error) => {
    startError = error;
  });
  const watch = watchChild(child, { timeoutMs: options.timeoutMs ?? TIMEOUT_MS, signal });
  let output = '';
  const complaints: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.length > OUTPUT_BYTES_MAX) {
      watch.stop();
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints.splice(0, complaints.length, ...[...complaints, ...text.split('\n')].slice(-20));
  });
  const exit = await watch.exited;
  if (child.pid === undefined) {
    throw new MediaError(
      'media_tool_missing',
      'ffprobe could not be started: install ffmpeg, or set FFPROBE_PATH',
      { cause: startError },
    );
  }
  if (output.length > OUTPUT_BYTES_MAX) {
    throw new MediaError('media_corrupt', 'the video has more streams than can be read');
  }
  const failure = toolFailure('ffprobe', exit, complaints, signal);
  if (failure instanceof MediaError && failure.code === 'media_tool_failed') {
    if (complaints.some((line) => line.includes('exceeds specified max pixel count'))) {
      throw new MediaError('media_pixel_limit', 'the video has too many pixels for the requested size', {
        cause: failure,
      });
    }
    const codec = NOT_ALLOWED.exec(complaints.join('\n'))?.[1];
    throw codec === undefined
      ? new MediaError('media_corrupt', 'the video cannot be read', { cause: failure })
      : new MediaError('media_type_refused', `the codec ${codec} is not accepted`, { cause: failure });
  }
  if (failure !== undefined) {
    throw failure;
  }
  return readProbe(output);
}

interface ProbedStream {
  readonly codec_type?: string;
  readonly codec_name?: string;
  readonly pix_fmt?: string;
  readonly width?: number;
  readonly height?: number;
  readonly sample_aspect_ratio?: string;
  readonly duration?: string;
  readonly nb_frames?: string;
  readonly avg_frame_rate?: string;
  readonly tags?: { readonly rotate?: string; readonly DURATION?: string };
  readonly side_data_list?: readonly { readonly rotation?: number }[];
}

function readProbe(text: string): VideoProbe {
  const { streams = [], format = {} } = parseOutput(text);
  const video = streams.find((stream) => stream.codec_type === 'video');
  if (!video?.codec_name || !video.width || !video.height) {
    throw new MediaError('media_corrupt', 'the file contains no readable video');
  }
  const seconds = video.duration ?? secondsOf(video.tags?.DURATION) ?? format.duration ?? 0;
  const durationMs = Math.round(Number(seconds) * 1000) || 0;
  const counted = Number(video.nb_frames ?? 0);
  const [numerator = 0, denominator = 1] = (video.avg_frame_rate ?? '').split('/').map(Number);
  const estimated = denominator > 0 ? Math.round((durationMs / 1000) * (numerator / denominator)) : 0;
  const ratio = video.sample_aspect_ratio ?? '1:1';
  const turned = video.side_data_list?.find((entry) => entry.rotation !== undefined)?.rotation;
  const rotation = turned ?? Number(video.tags?.rotate ?? 0);
  const [width, height] =
    Math.abs(rotation) % 180 === 90 ? [video.height, video.width] : [video.width, video.height];
  return {
    codec: video.codec_name,
    pixelFormat: video.pix_fmt ?? 'unknown',
    width,
    height,
    distorted: !['1:1', '0:1', 'N/A'].includes(ratio) || rotation !== 0,
    durationMs,
    frames: counted > 0 ? counted : estimated,
    audioCodec: streams.find((stream) => stream.codec_type === 'audio')?.codec_name,
  };
}

/** Returns the length that Matroska states for one stream, e.g. `00:00:03.042000000`. That of the file is its longest stream's. */
function secondsOf(duration: string | undefined): number | undefined {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(duration ?? '') ?? [];
  return seconds === undefined ? undefined : Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

function parseOutput(text: string): {
  streams?: readonly ProbedStream[];
  format?: { readonly duration?: string };
} {
  try {
    return JSON.parse(text) as ReturnType<typeof parseOutput>;
  } catch (error) {
    throw new MediaError('media_corrupt', 'the video cannot be read', { cause: error });
  }
}
