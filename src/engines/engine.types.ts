import type { FileContent } from '../lib/file-content.ts';

/** The work a task requests from an engine. Built from the task row; the seed is already resolved (never −1). */
export interface EngineRequest {
  /** Our task id. Engines that accept a client-chosen id get it, which makes runs recoverable after a crash. */
  readonly taskId: string;
  /** The fence: the number of this claim of the task, from 1. */
  readonly attempt: number;
  readonly kind: 'image' | 'video';
  /** The upstream's name for the model, from the route in tollgate.yaml. */
  readonly model: string;
  readonly prompt: string;
  /** 0 to 9,999,999,999, which exceeds 32 bits: engines with a narrower seed must map it deterministically. */
  readonly seed: bigint;
  /** The requested size in pixels. An engine may return a larger image, never a smaller one; we crop. */
  readonly width: number;
  readonly height: number;
  /** Denoising steps; undefined when the endpoint has no such field. */
  readonly steps: number | undefined;
  /** Length of a video in seconds; undefined for the engine's default. */
  readonly seconds: number | undefined;
  /** Members that the route adds to the request body; for ComfyUI, values by place. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /** Runs of this task that the engine accepted and that are known to be over; 0 by default. */
  readonly endedRuns?: number;
  /** Whether the files of the last run were broken: a run of this task that has succeeded must not be found again. */
  readonly again?: boolean;
}

/** One produced file, before post-processing. Its type is determined from its magic bytes, not from what the engine says. */
export interface EngineOutput {
  readonly index: number;
  /** In memory, or a file that the engine adapter wrote below the folder it was given. */
  readonly file: FileContent;
}

export type EngineState = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';

export interface EngineFailure {
  /** Stable snake_case: `content_refused`, `out_of_memory`, `upstream_rate_limited`, `upstream_error`, … */
  readonly code: string;
  readonly message: string;
  /** Whether another attempt with the same parameters can succeed. */
  readonly retryable: boolean;
  /**
   * Milliseconds the upstream asked us to wait (429/503). The task waits that long, and so does the pool once tasks of several accounts are
   * waiting.
   */
  readonly retryAfterMs?: number;
  /** The upstream's own message, unfiltered: it may quote prompts and keys. */
  readonly said?: string;
}

export interface EngineStatus {
  readonly state: EngineState;
  /** 0–1, best effort; the task keeps it monotonic. */
  readonly progress?: number;
  readonly queuePosition?: number;
  /** Present when failed. */
  readonly failure?: EngineFailure;
  /** What the upstream will bill for this run, in nano-USD, if it says so. */
  readonly costNanoUsd?: bigint;
}

export interface EngineCapabilities {
  readonly kinds: readonly ('image' | 'video')[];
  /** Generated sizes are rounded up to a multiple of this many pixels. */
  readonly sizeMultiple: number;
  readonly cancelQueued: boolean;
  readonly cancelRunning: boolean;
  /** Whether a second submit of the same task costs money. If so, we never resubmit blindly after losing a reference. */
  readonly paid: boolean;
  /** Returns whether runs end with this process, so their references are useless to others and not stored. Never set by a paid engine. */
  readonly transient?: (kind: 'image' | 'video') => boolean;
  /** Whether it draws by rules rather than with a trained model; its files say so. */
  readonly algorithmic?: boolean;
}

/** The memory of a device behind an engine, whichever process uses it. */
export interface DeviceMemory {
  /** `cuda:0`, `cpu`, … */
  readonly device: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface EngineContext {
  /** A folder for this attempt alone, removed by the caller afterwards. Reading this property may be what creates it. */
  readonly folder: string;
  /** Aborted on cancellation, a lost lease, the deadline and shutdown. */
  readonly signal: AbortSignal;
  /** Reports progress from 0 to 1; cheap to call often. */
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
  /** Returns what is wrong with a route to that model, as far as can be determined without asking the upstream. */
  modelError?(model: string, kind: 'image' | 'video'): string | undefined;
  /** Returns why it cannot make that size, in pixels, as far as its entry in tollgate.yaml says. */
  sizeError?(size: { readonly width: number; readonly height: number }): string | undefined;
  /** Starts the work. Returns the upstream's reference. Throws {@link EngineError}. */
  submit(request: EngineRequest, context: EngineContext): Promise<string>;
  /**
   * Finds the run after a crash without a stored reference. Returns its reference, `null` when the upstream certainly never accepted it, or
   * `'unknown'`.
   */
  recover(request: EngineRequest, context: EngineContext): Promise<string | null | 'unknown'>;
  /** Returns the state of a submitted run. */
  poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus>;
  /** Downloads the outputs of a succeeded run, small ones into memory, others into `context.folder`. */
  collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]>;
  /** Cancels a run. `stopped`: confirmed; `requested`: asked for but not confirmed; `unsupported`: the run goes on. */
  cancel(reference: string, request: EngineRequest): Promise<'stopped' | 'requested' | 'unsupported'>;
  /** Milliseconds between polls for this kind of work. */
  readonly pollIntervalMs: number;
  /** Returns whether it can take work now. When absent, it always can. Rejects only with the signal's reason. */
  isReady?(signal: AbortSignal): Promise<boolean>;
  /** Asks the upstream what it lacks for the models of this entry. Returns one line per problem. Throws {@link EngineError}. */
  findMistakes?(signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the memory usage of the upstream's devices. Throws {@link EngineError}. */
  readMemory?(signal: AbortSignal): Promise<readonly DeviceMemory[]>;
  /** Unloads models from the upstream's memory, after a run found too little of it free. Throws {@link EngineError}. */
  freeMemory?(signal: AbortSignal): Promise<void>;
  /** Releases sockets, child processes and timers. */
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

/** A file of the scratch disk could not be written. The upstream is not to blame, and what it made is still good. */
export class ScratchDiskError extends Error {
  override readonly name = 'ScratchDiskError';
  /** The system's error code, e.g. `ENOSPC`. Empty when there is none. */
  readonly code: string;

  constructor(cause: unknown) {
    const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    super(`the scratch disk cannot be written: ${String(message ?? cause)}`, { cause });
    this.code = typeof code === 'string' ? code : '';
  }
}

/** Does a write to the scratch disk. Throws ScratchDiskError, so that its failure is not taken for one of the connection. */
export async function onScratchDisk<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new ScratchDiskError(error);
  }
}

export interface EnginePools {
  /** The engine that serves a pool on this host; undefined when none is configured. */
  find(pool: string): Engine | undefined;
}
