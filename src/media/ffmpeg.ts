import type { ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import fluent from 'fluent-ffmpeg';
import { type ChildLimits, type ChildWatch, watchChild } from './child-watch.ts';
import { DECODERS, type ProbeOptions, probeVideo, type VideoProbe } from './ffprobe.ts';
import type { VideoContainer } from './file-signature.ts';
import { MediaError } from './media-error.ts';
import { VIDEO_BYTES_MAX, VIDEO_DURATION_MS_MAX } from './media-limits.ts';
import { toolFailure } from './tool-failure.ts';

/** Words for operators: a program that is missing, or may not be run. */
const NOT_STARTED = 'ffmpeg could not be started: install it, or set FFMPEG_PATH';

export interface FfmpegOptions {
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  /** Maximum duration of one run, in ms. */
  readonly timeoutMs?: number;
  /** Maximum time without progress, in ms. */
  readonly stallMs?: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killAfterMs?: number;
}

export interface InputOptions {
  readonly container: VideoContainer;
  readonly pixelsMax: number;
  readonly signal: AbortSignal;
}

export interface Mp4Options extends InputOptions {
  /** Whether to copy the video stream unchanged. It must be H.264 yuv420p of the right size. */
  readonly copyVideo: boolean;
  readonly copyAudio: boolean;
  /** The size to fill and crop to when the video is re-encoded. */
  readonly width: number;
  readonly height: number;
  /** A constant text about the file's origin. */
  readonly comment: string;
  /** Also writes one frame as PNG in the same run, when the video is re-encoded. */
  readonly still?: { readonly path: string; readonly atSeconds: number };
}

export interface FrameOptions {
  readonly width: number;
  readonly height: number;
  readonly framesPerSecond: number;
  readonly signal: AbortSignal;
}

export interface Ffmpeg {
  /** Returns the properties of a video. See {@link probeVideo} for what it throws. */
  probe(path: string, options: ProbeOptions): Promise<VideoProbe>;
  /** Rewrites or re-encodes a video as a streamable H.264 MP4 without its metadata. */
  toMp4(input: string, output: string, options: Mp4Options): Promise<void>;
  /** Decodes all frames of a video and discards them. Throws {@link MediaError} media_corrupt at the first error. */
  verifyFrames(path: string, options: InputOptions): Promise<void>;
  /** Writes one frame as PNG. */
  poster(input: string, output: string, options: InputOptions & { atSeconds: number }): Promise<void>;
  /** Encodes raw sRGB frames (width × height × 3 bytes) as H.264 MP4. The same frames give the same bytes. Even sides only. */
  encodeFrames(frames: AsyncIterable<Uint8Array>, output: string, options: FrameOptions): Promise<void>;
}

const TIMEOUT_MS = 10 * 60_000;
const STALL_MS = 60_000;
const LINES_KEPT = 40;
// Fixed, because the output of x264 depends on the number of threads.
const ENCODER_THREADS = '2';

const QUIET = ['-hide_banner', '-nostdin', '-loglevel', 'error', '-nostats', '-progress', 'pipe:2'];
const H264 = ['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-threads', ENCODER_THREADS];
// Without these tags players guess BT.601 or BT.709 from the size, which shifts the colors.
const BT709 = [
  '-colorspace',
  'bt709',
  '-color_primaries',
  'bt709',
  '-color_trc',
  'bt709',
  '-color_range',
  'tv',
];
const CLEAN_MP4 = [
  ['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact', '-flags:v', '+bitexact'],
  ['-movflags', '+faststart', '-f', 'mp4'],
].flat();

/** Runs ffmpeg and ffprobe. Every method rejects with {@link MediaError} or the signal's reason, and only after the child is gone. */
export function createFfmpeg(options: FfmpegOptions): Ffmpeg {
  const command = (input: string | Readable) => {
    const created = fluent({ source: input, logger: undefined }).setFfmpegPath(options.ffmpegPath);
    return declareCapabilities(created);
  };
  const limits = (signal: AbortSignal): ChildLimits => ({
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    stallMs: options.stallMs ?? STALL_MS,
    ...(options.killAfterMs === undefined ? {} : { killAfterMs: options.killAfterMs }),
    signal,
  });
  return {
    probe: (path, probeOptions) => probeVideo(options.ffprobePath, path, probeOptions),
    toMp4: (input, output, mp4) => {
      const made = command(input)
        .inputOptions(...QUIET, ...hostileInput(mp4))
        .outputOptions(...mp4Output(mp4))
        .output(output);
      if (mp4.still) {
        const filter = ['-vf', `${fillAndCrop(mp4)},setsar=1`];
        made.output(mp4.still.path).outputOptions(...filter, ...stillOutput(mp4.still.atSeconds));
      }
      return run(made, limits(mp4.signal));
    },
    verifyFrames: (path, input) =>
      run(
        command(path)
          .inputOptions(...QUIET, '-xerror', '-err_detect', 'explode', ...hostileInput(input))
          .outputOptions('-map', '0:v:0', '-f', 'null')
          .output('-'),
        limits(input.signal),
      ).catch((error: unknown) => {
        const flawed = error instanceof MediaError && error.code === 'media_tool_failed';
        throw flawed
          ? new MediaError('media_corrupt', 'the video has broken frames', { cause: error })
          : error;
      }),
    poster: (input, output, poster) =>
      run(
        command(input)
          .inputOptions(...QUIET, ...hostileInput(poster), '-ss', poster.atSeconds.toFixed(3))
          .outputOptions('-map', '0:v:0', '-frames:v', '1', '-c:v', 'png', '-f', 'image2pipe')
          .output(output),
        limits(poster.signal),
      ),
    encodeFrames: (frames, output, frameOptions) =>
      encodeFrames(command, frames, output, frameOptions, limits(frameOptions.signal)),
  };
}

function hostileInput(options: InputOptions): string[] {
  return [
    ['-protocol_whitelist', 'file,pipe', '-codec_whitelist', DECODERS],
    ['-max_pixels', String(options.pixelsMax), '-f', options.container],
  ].flat();
}

function fillAndCrop({ width, height }: Mp4Options, colours = ''): string {
  return `scale=${width}:${height}:force_original_aspect_ratio=increase${colours},crop=${width}:${height}`;
}

function stillOutput(atSeconds: number): string[] {
  const at = ['-ss', atSeconds.toFixed(3)];
  return ['-map', '0:v:0', ...at, '-frames:v', '1', '-c:v', 'png', '-f', 'image2pipe'];
}

function mp4Output(options: Mp4Options): string[] {
  const filter = `${fillAndCrop(options, ':out_color_matrix=bt709:out_range=tv')},setsar=1`;
  // filter_units drops SEI messages (type 6), in which encoders store their settings and arbitrary other data.
  const video = options.copyVideo
    ? ['-c:v', 'copy', '-bsf:v', 'filter_units=remove_types=6']
    : [...H264, '-crf', '18', ...BT709, '-vf', filter];
  return [
    ['-map', '0:v:0', '-map', '0:a:0?'],
    video,
    options.copyAudio ? ['-c:a', 'copy'] : ['-c:a', 'aac', '-b:a', '160k'],
    ['-t', String(VIDEO_DURATION_MS_MAX / 1000), '-fs', String(VIDEO_BYTES_MAX)],
    ['-metadata', `comment=${options.comment}`],
    CLEAN_MP4,
  ].flat();
}

async function encodeFrames(
  command: (input: Readable) => fluent.FfmpegCommand,
  frames: AsyncIterable<Uint8Array>,
  output: string,
  options: FrameOptions,
  limits: ChildLimits,
): Promise<void> {
  const { width, height, framesPerSecond } = options;
  const source = Readable.from(frames, { objectMode: false, highWaterMark: 1 });
  const raw = [
    '-f',
    'rawvideo',
    '-pix_fmt',
    'rgb24',
    '-s',
    `${width}x${height}`,
    '-r',
    String(framesPerSecond),
  ];
  const colour = ['-vf', 'scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd', ...BT709];
  try {
    await run(
      command(source)
        .inputOptions(...QUIET, '-protocol_whitelist', 'file,pipe', ...raw)
        .outputOptions(...H264, '-crf', '16', ...colour, ...CLEAN_MP4)
        .output(output),
      limits,
    );
  } finally {
    // Also ends the producer, so a generator's cleanup runs before the caller continues.
    await new Promise<void>((resolve) => {
      if (source.closed) {
        resolve();
      } else {
        source.once('close', resolve).destroy();
      }
    });
  }
}

interface FluentInternals {
  readonly ffmpegProc?: ChildProcess;
  availableFormats(callback: (error: null, formats: object) => void): void;
  availableEncoders(callback: (error: null, encoders: object) => void): void;
}

const BOTH_WAYS = { canMux: true, canDemux: true };
const FORMATS = Object.fromEntries(
  ['mov', 'mp4', 'matroska', 'avi', 'rawvideo', 'image2pipe', 'null'].map((name) => [name, BOTH_WAYS]),
);

// Before its first run the package asks the binary for its formats and encoders, in children that it can neither stop nor time out. We
// use a handful that every build has; ffmpeg itself reports any others.
function declareCapabilities(command: fluent.FfmpegCommand): fluent.FfmpegCommand {
  const internals: Pick<FluentInternals, 'availableFormats' | 'availableEncoders'> = {
    availableFormats: (callback) => callback(null, FORMATS),
    availableEncoders: (callback) => callback(null, {}),
  };
  return Object.assign(command, internals) as fluent.FfmpegCommand;
}

/**
 * Runs a command. The package's own timeout reports before the process is gone and never escalates to SIGKILL, so we use its events only
 * for the start and for output lines; the process itself determines when the run is over.
 */
function run(command: fluent.FfmpegCommand, limits: ChildLimits): Promise<void> {
  return new Promise((resolve, reject) => {
    if (limits.signal.aborted) {
      reject(limits.signal.reason);
      return;
    }
    const lines: string[] = [];
    let watch: ChildWatch | undefined;
    let sourceError: unknown;
    let position = '';
    command.on('stderr', (line: string) => {
      const progress = /^(?:frame|total_size|out_time_ms)=/.test(line);
      if (progress && line !== position) {
        position = line;
        watch?.alive();
      } else if (!/^[a-z_0-9]+=/.test(line)) {
        lines.push(line);
        lines.splice(0, lines.length - LINES_KEPT);
      }
    });
    command.on('start', () => {
      const child = (command as unknown as FluentInternals).ffmpegProc;
      if (child === undefined) {
        reject(new MediaError('media_tool_missing', NOT_STARTED));
        return;
      }
      // The package's own listener throws for a process that never started, which would crash our process.
      child.removeAllListeners('error').once('error', (error) => {
        sourceError ??= child.pid === undefined ? error : undefined;
      });
      watch = watchChild(child, limits);
      const conclude = async (running: ChildWatch) => {
        const exit = await running.exited;
        if (child.pid === undefined) {
          throw new MediaError('media_tool_missing', NOT_STARTED, { cause: sourceError });
        }
        const failure = sourceError ?? toolFailure('ffmpeg', exit, lines, limits.signal);
        if (failure !== undefined) {
          throw failure;
        }
      };
      conclude(watch).then(resolve, reject);
    });
    command.on('error', (error: Error & { inputStreamError?: unknown }) => {
      if (watch === undefined) {
        reject(new MediaError('media_tool_missing', NOT_STARTED, { cause: error }));
        return;
      }
      sourceError ??= error.inputStreamError;
      if (sourceError !== undefined) {
        watch.stop();
      }
    });
    command.run();
  });
}
