import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { Logger } from '../../lib/logger.ts';
import { pause } from '../../lib/pause.ts';
import { cappedLog } from './capped-log.ts';
import { isHealthy, isWarm } from './health-check.ts';
import { identify, killGroup, removeRecord, writeRecord } from './process-record.ts';
import type { ProcessSettings } from './process-settings.ts';

/** The variables of our environment that are passed to engines: programs, libraries, GPUs, caches and proxies. Nothing secret. */
const PASSED_ON =
  /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|LD_LIBRARY_PATH|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|CUDA_(HOME|PATH|CACHE_PATH|DEVICE_ORDER)|(CUDA|HIP|ROCR)_VISIBLE_DEVICES|NVIDIA_\w+|HF_HOME|XDG_CACHE_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYTHONUNBUFFERED)$/;

interface EnginePlace {
  /** The GPU's index in CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES; undefined on a host without a GPU. */
  readonly gpu: number | undefined;
  readonly port: number;
}

export interface EngineProcessPlan {
  /** For log lines and file names: engine and GPU. */
  readonly name: string;
  readonly settings: ProcessSettings;
  readonly place: EnginePlace;
  /** Our own environment variables. The engine gets only the harmless ones. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  readonly recordFile: string;
  readonly clocks: SupervisionClocks;
  /** Called after each start of the server. */
  readonly onStart?: (() => void) | undefined;
}

export interface SupervisionClocks {
  /** Ms between health checks of a server that is starting. */
  readonly startingCheckMs: number;
  /** Ms between health checks of a ready server. */
  readonly workingCheckMs: number;
  /** Ms before the first restart, doubled for each further one. */
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** Ms a server must have run for the restart pause to be reset. */
  readonly provenMs: number;
}

export const SUPERVISION_CLOCKS: SupervisionClocks = {
  startingCheckMs: 500,
  workingCheckMs: 5_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 60_000,
  provenMs: 60_000,
};

/** Keeps the server of an engine running on one GPU: starts it, checks its health, and restarts it with backoff. */
export class EngineProcess {
  readonly baseUrl: string;
  readonly #plan: EngineProcessPlan;
  readonly #log: Logger;
  readonly #output: Writable;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #child: ChildProcess | undefined;
  /** Counts starts: a restarted server knows nothing of earlier runs. */
  #run = 0;
  #alive = false;
  #ready = false;

  /** Starts the server immediately. */
  constructor(plan: EngineProcessPlan, log: Logger) {
    this.baseUrl = `http://127.0.0.1:${plan.place.port}`;
    this.#plan = plan;
    this.#log = log.child({ engine: plan.name });
    this.#output = cappedLog(plan.logFile);
    // Each start pipes stdout and stderr into it, which would exceed the listener limit.
    this.#output.setMaxListeners(0);
    this.#running = this.#keepRunning();
  }

  /** The number of the current start; undefined while the server is not running. */
  get run(): number | undefined {
    return this.#alive ? this.#run : undefined;
  }

  /** Whether it can take work now. */
  get ready(): boolean {
    return this.#ready;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Sends SIGTERM, then SIGKILL. Resolves when the process is gone. It is not restarted. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await new Promise<void>((resolve) => this.#output.end(resolve));
  }

  /** Sends SIGKILL without waiting, for the exit of our own process. */
  kill(): void {
    this.#stopping.abort();
    if (this.#child?.pid !== undefined) {
      killGroup(this.#child.pid, 'SIGKILL');
    }
  }

  async #keepRunning(): Promise<void> {
    const { clocks } = this.#plan;
    const { signal } = this.#stopping;
    let pauseMs = clocks.backoffFirstMs;
    while (!signal.aborted) {
      const beganAt = performance.now();
      const reason = await this.#runOnce().catch((error: Error) => error.message);
      if (signal.aborted) {
        break;
      }
      pauseMs = performance.now() - beganAt >= clocks.provenMs ? clocks.backoffFirstMs : pauseMs;
      this.#log.warn({ reason, pauseMs, logFile: this.#plan.logFile }, 'an engine process ended');
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, clocks.backoffMaxMs);
    }
    await removeRecord(this.#plan.recordFile).catch(() => undefined);
  }

  /** Runs the server once. Returns why it ended. */
  async #runOnce(): Promise<string> {
    this.#run += 1;
    this.#plan.onStart?.();
    const child = this.#spawn();
    this.#child = child;
    this.#alive = true;
    const ended = new AbortController();
    const exit = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) =>
        resolve(signal ? `ended by ${signal}` : `ended with code ${code}`),
      );
      child.once(
        'error',
        (error: NodeJS.ErrnoException) => child.pid ?? resolve(`could not be run (${error.code})`),
      );
    }).finally(() => {
      this.#alive = false;
      this.#ready = false;
      ended.abort();
    });
    await this.#record(child).catch((error: unknown) =>
      this.#log.warn({ error }, 'could not record an engine process'),
    );
    const until = AbortSignal.any([ended.signal, this.#stopping.signal]);
    const verdict = await this.#watch(until);
    this.#ready = false;
    if (!ended.signal.aborted) {
      await this.#end(child, exit, ended.signal);
    }
    // Child processes of the server must not keep the GPU.
    if (child.pid !== undefined) {
      killGroup(child.pid, 'SIGKILL');
    }
    return verdict ?? (await exit);
  }

  #spawn(): ChildProcess {
    const { settings, place, variables } = this.#plan;
    const [program = '', ...parameters] = settings.command.map((word) => fillPlace(word, place));
    // A separate process group: Ctrl-C in a terminal must reach only us, because we stop the engine after its work is done.
    const child = spawn(program, parameters, {
      env: engineEnvironment(variables, settings.env, place),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdout.pipe(this.#output, { end: false });
    child.stderr.pipe(this.#output, { end: false });
    this.#log.info({ pid: child.pid, gpu: place.gpu, port: place.port }, 'engine process started');
    return child;
  }

  async #record(child: ChildProcess): Promise<void> {
    const [engine, owner] = await Promise.all([identify(child.pid ?? 0), identify(process.pid)]);
    if (engine && owner) {
      await writeRecord(this.#plan.recordFile, { engine, owner });
    }
  }

  /** Checks the server's health until it exits or is stopped (returns undefined) or must be killed (returns the reason). */
  async #watch(until: AbortSignal): Promise<string | undefined> {
    const { settings, clocks } = this.#plan;
    let lastHealthyAt = performance.now();
    while (!until.aborted) {
      const healthy =
        (await isHealthy(`${this.baseUrl}${settings.health}`, until)) &&
        (await this.#isWarm(lastHealthyAt, until));
      if (until.aborted) {
        break;
      }
      if (healthy) {
        lastHealthyAt = performance.now();
        this.#becomeReady();
      }
      const limitMs = (this.#ready ? settings.unhealthy_after : settings.start_timeout) * 1_000;
      if (performance.now() - lastHealthyAt >= limitMs) {
        return this.#ready
          ? `failed its health check for ${settings.unhealthy_after} s`
          : `was not healthy within ${settings.start_timeout} s`;
      }
      await pause(this.#ready ? clocks.workingCheckMs : clocks.startingCheckMs, until);
    }
    return undefined;
  }

  /** Sends the warm-up request, once per start. It must succeed before the server's `start_timeout` is over. */
  async #isWarm(beganAt: number, until: AbortSignal): Promise<boolean> {
    const { warmup, start_timeout } = this.#plan.settings;
    if (this.#ready || !warmup) {
      return true;
    }
    const leftMs = Math.max(1, Math.ceil(beganAt + start_timeout * 1_000 - performance.now()));
    return await isWarm(`${this.baseUrl}${warmup.path}`, warmup.body, leftMs, until);
  }

  #becomeReady(): void {
    if (!this.#ready) {
      this.#ready = true;
      this.#log.info({ pid: this.pid, port: this.#plan.place.port }, 'engine process ready');
    }
  }

  async #end(child: ChildProcess, exit: Promise<string>, ended: AbortSignal): Promise<void> {
    if (child.pid !== undefined) {
      killGroup(child.pid, 'SIGTERM');
      await pause(this.#plan.settings.stop_timeout * 1_000, ended);
      killGroup(child.pid, 'SIGKILL');
    }
    await exit;
  }
}

/** Builds the environment of an engine process: the harmless part of ours, what its entry sets, its GPU and its port. */
function engineEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  { gpu, port }: EnginePlace,
): Record<string, string> {
  const passed = Object.entries(ours).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      PASSED_ON.test(entry[0]) &&
      // ROCm renumbers the GPUs that this variable leaves visible, so our index would mean another GPU.
      !(gpu !== undefined && entry[0] === 'ROCR_VISIBLE_DEVICES'),
  );
  return {
    ...Object.fromEntries(passed),
    // nvidia-smi numbers GPUs in bus order; by default CUDA sorts them by speed.
    ...(gpu === undefined ? {} : { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    ...own,
    PORT: String(port),
    ...(gpu === undefined ? {} : { CUDA_VISIBLE_DEVICES: String(gpu), HIP_VISIBLE_DEVICES: String(gpu) }),
  };
}

/** Fills in `{port}` and `{gpu}` in a word of the command. Without a GPU `{gpu}` is empty. */
function fillPlace(word: string, { gpu, port }: EnginePlace): string {
  return word.replaceAll('{port}', String(port)).replaceAll('{gpu}', gpu === undefined ? '' : String(gpu));
}
