import type { FileContent } from '../lib/file-content.ts';

/** What a task asks an engine to make. Built from the task row; the seed is already resolved (never −1). */
export interface EngineRequest {
  /** Our id of the task: engines that accept a client-chosen id get it, so a crash can be recovered from. */
  readonly taskId: string;
  /** The fence: which claim of the task this is, from 1. */
  readonly attempt: number;
  readonly kind: 'image' | 'video';
  /** The upstream's name for the model, from the route in tollgate.yaml. */
  readonly model: string;
  readonly prompt: string;
  /** 0 … 9,999,999,999: more than 32 bits, engines with a narrower seed must map it deterministically. */
  readonly seed: bigint;
  /** Pixels the customer asked for. An engine may return a larger image, never a smaller one; we crop. */
  readonly width: number;
  readonly height: number;
  /** Denoising steps; undefined where the endpoint has no such field. */
  readonly steps: number | undefined;
  /** Length of a video in seconds; undefined: the engine's own. */
  readonly seconds: number | undefined;
  /** What the route adds to the body that is sent; for ComfyUI values by place. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

/** One produced file, before post-processing. Its type is checked by magic bytes, never believed. */
export interface EngineOutput {
  readonly index: number;
  /** In memory, or written by the engine adapter below the folder it was given. */
  readonly file: FileContent;
}

export type EngineState = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';

export interface EngineFailure {
  /** Stable snake_case: `content_refused`, `out_of_memory`, `upstream_rate_limited`, `upstream_error`, … */
  readonly code: string;
  readonly message: string;
  /** Whether another attempt with the same parameters can succeed. */
  readonly retryable: boolean;
  /** Milliseconds the upstream asked us to wait (429/503). The task waits that long; the pool, when tasks of several accounts do. */
  readonly retryAfterMs?: number;
  /** The upstream's own words, as they came: may quote prompts and keys. */
  readonly said?: string;
}

export interface EngineStatus {
  readonly state: EngineState;
  /** 0–1, best effort; the task keeps it monotonic. */
  readonly progress?: number;
  readonly queuePosition?: number;
  /** Present when failed. */
  readonly failure?: EngineFailure;
  /** What the upstream will bill for this run, in nano-USD, when it says so. */
  readonly costNanoUsd?: bigint;
}

export interface EngineCapabilities {
  readonly kinds: readonly ('image' | 'video')[];
  /** Generated sizes are rounded up to this multiple of pixels. */
  readonly sizeMultiple: number;
  readonly cancelQueued: boolean;
  readonly cancelRunning: boolean;
  /** Whether a second submit of the same task costs money: then a lost reference is never answered by a blind re-submit. */
  readonly paid: boolean;
  /** Runs live and die with this process: a reference is worth nothing to another one and is not stored. Never of a paid engine. */
  readonly transient?: (kind: 'image' | 'video') => boolean;
  /** Draws by rules instead of by a trained model; its files say so. */
  readonly algorithmic?: boolean;
}

/** The memory of a device behind an engine, whoever fills it. */
export interface DeviceMemory {
  /** `cuda:0`, `cpu`, … */
  readonly device: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface EngineContext {
  /** A folder of this attempt's own, removed by the caller afterwards. It may be made when it is first read. */
  readonly folder: string;
  /** Aborts on cancel, lost lease, deadline and shutdown. */
  readonly signal: AbortSignal;
  /** Reports 0–1 as work goes on; cheap to call often. */
  readonly onProgress: (progress: number) => void;
}

/**
 * Something that can make images or videos: an in-process renderer, a local GPU server, a hosted service.
 * The caller stores the reference before it polls, so a crash resumes with `poll` instead of a second `submit`.
 */
export interface Engine {
  readonly id: string;
  readonly kind: string;
  readonly capabilities: EngineCapabilities;
  /** What is wrong with a route to that model, as far as it can be told without asking upstream. */
  modelMistake?(model: string, kind: 'image' | 'video'): string | undefined;
  /** Starts the work. Returns the upstream's reference. Throws {@link EngineError}. */
  submit(request: EngineRequest, context: EngineContext): Promise<string>;
  /** After a crash without a stored reference: the reference, `null` = certainly never accepted, `'unknown'` = can't tell. */
  recover(request: EngineRequest, context: EngineContext): Promise<string | null | 'unknown'>;
  /** The state of a submitted run. */
  poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus>;
  /** Downloads the outputs of a succeeded run, small ones into memory, others into `context.folder`. */
  collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]>;
  /** `stopped`: confirmed; `requested`: asked, not confirmed; `unsupported`: the run goes on. */
  cancel(reference: string, request: EngineRequest): Promise<'stopped' | 'requested' | 'unsupported'>;
  /** Milliseconds between polls for this kind of work. */
  readonly pollIntervalMs: number;
  /** Whether it can take work now. Absent: it always can. Rejects only with the signal's reason. */
  isReady?(signal: AbortSignal): Promise<boolean>;
  /** What the upstream lacks for the models that this entry offers, a line each, as it says itself. Throws {@link EngineError}. */
  findMistakes?(signal: AbortSignal): Promise<readonly string[]>;
  /** How full the memory of the upstream's devices is. Throws {@link EngineError}. */
  readMemory?(signal: AbortSignal): Promise<readonly DeviceMemory[]>;
  /** Unloads what fills the upstream's memory, after a run found too little of it. Throws {@link EngineError}. */
  freeMemory?(signal: AbortSignal): Promise<void>;
  /** Frees sockets, child processes and timers. */
  close(): Promise<void>;
}

/** A failure of an engine, with what the task should do about it. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly failure: EngineFailure;

  constructor(failure: EngineFailure, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.failure = failure;
  }
}

export interface EnginePools {
  /** The engine that serves a pool on this host; undefined when none is configured. */
  find(pool: string): Engine | undefined;
}
