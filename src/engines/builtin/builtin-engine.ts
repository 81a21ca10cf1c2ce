import { join } from 'node:path';
import {
  type Engine,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import type { FramePixels } from './render-job.ts';
import { renderOnThread } from './render-thread.ts';

/** Turns pixels into files. The media folder provides the implementation. */
export interface BuiltinEncoders {
  /** Writes width × height × 3 bytes of sRGB as a PNG file. */
  encodePng(pixels: FramePixels, width: number, height: number, path: string): Promise<void>;
  /** Writes frames of width × height × 3 bytes of sRGB as an H.264 MP4 file. Even sides only. */
  encodeFrames(
    frames: AsyncIterable<FramePixels>,
    path: string,
    options: { width: number; height: number; framesPerSecond: number; signal: AbortSignal },
  ): Promise<void>;
}

export interface BuiltinEngineOptions {
  readonly id: string;
  readonly encoders: BuiltinEncoders;
  /** Number of frames in a video, after which the loop closes. */
  readonly videoFrames?: number;
  readonly framesPerSecond?: number;
  /** Maximum number of runs held at once, including finished ones that nobody collected. */
  readonly runsMax?: number;
}

interface Run {
  readonly path: string;
  readonly abort: AbortController;
  readonly done: Promise<void>;
  progress: number;
  state: 'running' | 'succeeded' | 'failed' | 'canceled';
  failure: EngineError | undefined;
}

const REFERENCE_PREFIX = 'builtin:';
const VIDEO_FRAMES = 60;
const FRAMES_PER_SECOND = 24;
const RUNS_MAX = 32;
const POLL_INTERVAL_MS = 200;
const SIDE_MIN = 16;
const SIDE_MAX = 4096;

/**
 * An engine without dependencies: it draws generative art on this machine from prompt, seed and steps. It is not a model and does not
 * understand language; it exercises the whole asynchronous path without a GPU, a key or a network. The same request gives the same bytes,
 * so a lost run is simply drawn again.
 */
export class BuiltinEngine implements Engine {
  readonly kind = 'builtin';
  readonly capabilities = {
    kinds: ['image', 'video'],
    sizeMultiple: 1,
    cancelQueued: true,
    cancelRunning: true,
    paid: false,
    algorithmic: true,
  } as const;
  readonly pollIntervalMs = POLL_INTERVAL_MS;
  readonly id: string;
  readonly #options: BuiltinEngineOptions;
  readonly #runs = new Map<string, Run>();

  constructor(options: BuiltinEngineOptions) {
    this.id = options.id;
    this.#options = options;
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    checkRequest(request);
    context.signal.throwIfAborted();
    const reference = `${REFERENCE_PREFIX}${request.taskId}:${request.attempt}`;
    if (this.#runs.has(reference)) {
      return reference;
    }
    const full = this.#runs.size >= (this.#options.runsMax ?? RUNS_MAX);
    if (full && !forgetOldestEnded(this.#runs)) {
      throw new EngineError({
        code: 'engine_busy',
        message: 'the built-in engine has too many runs at once',
        retryable: true,
      });
    }
    this.#runs.set(reference, startRun(this.#options, request, context));
    return reference;
  }

  // Runs exist only in this process: after a crash they are gone, and drawing them again gives the same bytes.
  async recover(): Promise<null> {
    return null;
  }

  async poll(reference: string, _request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    const run = this.#runs.get(reference);
    if (run === undefined) {
      return { state: 'failed', failure: LOST };
    }
    context.onProgress(run.progress);
    const status = { state: run.state, progress: run.progress };
    return run.failure ? { ...status, failure: run.failure.failure } : status;
  }

  async collect(reference: string): Promise<EngineOutput[]> {
    const run = this.#runs.get(reference);
    if (run?.state !== 'succeeded') {
      throw run?.failure ?? new EngineError(LOST);
    }
    this.#runs.delete(reference);
    return [{ index: 0, file: run.path }];
  }

  async cancel(reference: string): Promise<'stopped'> {
    const run = this.#runs.get(reference);
    this.#runs.delete(reference);
    run?.abort.abort();
    await run?.done;
    return 'stopped';
  }

  async close(): Promise<void> {
    await Promise.all([...this.#runs.keys()].map((reference) => this.cancel(reference)));
  }
}

// Callers that died or gave up never collect their runs, so finished runs are dropped to make room.
function forgetOldestEnded(runs: Map<string, Run>): boolean {
  for (const [reference, run] of runs) {
    if (run.state !== 'running') {
      return runs.delete(reference);
    }
  }
  return false;
}

const LOST = {
  code: 'run_lost',
  message: 'the run was lost when its process ended',
  retryable: true,
} as const;

function checkRequest(request: EngineRequest): void {
  const sides = [request.width, request.height];
  const fits = sides.every((side) => Number.isInteger(side) && side >= SIDE_MIN && side <= SIDE_MAX);
  const even = request.kind === 'image' || sides.every((side) => side % 2 === 0);
  if (!fits || !even) {
    const message = `the built-in engine cannot draw this ${request.kind} size: ${request.width}x${request.height}`;
    throw new EngineError({ code: 'unsupported_size', message, retryable: false });
  }
}

function outputPath(request: EngineRequest, context: EngineContext): string {
  return join(context.folder, request.kind === 'image' ? 'output-0.png' : 'output-0.mp4');
}

function startRun(options: BuiltinEngineOptions, request: EngineRequest, context: EngineContext): Run {
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, context.signal]);
  const onProgress = (fraction: number) => {
    run.progress = Math.max(run.progress, fraction);
    context.onProgress(run.progress);
  };
  const path = outputPath(request, context);
  const run: Run = {
    path,
    abort,
    progress: 0,
    state: 'running',
    failure: undefined,
    done: draw(options, request, path, signal, onProgress).then(
      () => {
        run.state = 'succeeded';
        onProgress(1);
      },
      (error: unknown) => {
        run.state = signal.aborted ? 'canceled' : 'failed';
        run.failure = signal.aborted ? undefined : toEngineError(error, request.kind);
      },
    ),
  };
  return run;
}

async function draw(
  options: BuiltinEngineOptions,
  request: EngineRequest,
  path: string,
  signal: AbortSignal,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const { width, height, prompt, seed, steps, seconds } = request;
  const framesPerSecond = options.framesPerSecond ?? FRAMES_PER_SECOND;
  const length = seconds === undefined ? (options.videoFrames ?? VIDEO_FRAMES) : seconds * framesPerSecond;
  const frames = request.kind === 'image' ? 1 : length;
  // The encoder finishes after the renderer, so the last 3% of the progress is left to it.
  const rendered = renderOnThread({ width, height, frames, prompt, seed, steps }, signal, (fraction) =>
    onProgress(fraction * 0.97),
  );
  if (request.kind === 'video') {
    await options.encoders.encodeFrames(rendered, path, { width, height, framesPerSecond, signal });
    return;
  }
  for await (const pixels of rendered) {
    await options.encoders.encodePng(pixels, width, height, path);
  }
  signal.throwIfAborted();
}

/** Operators read why: without ffmpeg, for instance, every video fails. */
function toEngineError(error: unknown, kind: EngineRequest['kind']): EngineError {
  if (error instanceof EngineError) {
    return error;
  }
  const said = error instanceof Error ? error.message : String(error);
  const failure = { code: 'render_failed', message: `the ${kind} could not be drawn`, retryable: true, said };
  return new EngineError(failure, { cause: error });
}
