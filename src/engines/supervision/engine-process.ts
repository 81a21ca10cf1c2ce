import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { Logger } from '../../lib/logger.ts';
import { pause } from '../../lib/pause.ts';
import { cappedLog } from './capped-log.ts';
import { isHealthy, isWarm } from './health-check.ts';
import { identify, killGroup, removeRecord, writeRecord } from './process-record.ts';
import type { ProcessSettings } from './process-settings.ts';

/** What an engine may see of our environment: where programs, libraries, GPUs, caches and proxies are. Nothing secret. */
const PASSED_ON =
  /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|LD_LIBRARY_PATH|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|CUDA_(HOME|PATH|CACHE_PATH|DEVICE_ORDER)|(CUDA|HIP|ROCR)_VISIBLE_DEVICES|NVIDIA_\w+|HF_HOME|XDG_CACHE_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYTHONUNBUFFERED)$/;

interface EnginePlace {
  /** What CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES call the GPU; undefined on a host without. */
  readonly gpu: number | undefined;
  readonly port: number;
}

export interface EngineProcessPlan {
  /** For log lines and file names: engine and GPU. */
  readonly name: string;
  readonly settings: ProcessSettings;
  readonly place: EnginePlace;
  /** Our own variables, of which the engine sees the harmless ones. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  readonly recordFile: string;
  readonly clocks: SupervisionClocks;
  /** Called after each start of the server. */
  readonly onStart?: (() => void) | undefined;
}

export interface SupervisionClocks {
  /** Ms between two looks at a server that starts. */
  readonly startingCheckMs: number;
  /** Ms between two looks at one that works. */
  readonly workingCheckMs: number;
  /** Ms before the first restart; doubled for each further one. */
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** Ms a server must have worked for the next pause to be short again. */
  readonly provenMs: number;
}

export const SUPERVISION_CLOCKS: SupervisionClocks = {
  startingCheckMs: 500,
  workingCheckMs: 5_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 60_000,
  provenMs: 60_000,
};

/** Keeps the server of an engine running on one GPU: starts it, watches it, and restarts it after a growing pause. */
export class EngineProcess {
  readonly baseUrl: string;
  readonly #plan: EngineProcessPlan;
  readonly #log: Logger;
  readonly #output: Writable;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #child: ChildProcess | undefined;
  /** Counts starts: what an earlier run knew, a later one does not. */
  #run = 0;
  #alive = false;
  #ready = false;

  /** Starts at once. */
  constructor(plan: EngineProcessPlan, log: Logger) {
    this.baseUrl = `http://127.0.0.1:${plan.place.port}`;
    this.#plan = plan;
    this.#log = log.child({ engine: plan.name });
    this.#output = cappedLog(plan.logFile);
    // Two pipes end in it, one pair per run.
    this.#output.setMaxListeners(0);
    this.#running = this.#keepRunning();
  }

  /** Number of the run that goes on; undefined between two. */
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

  /** SIGTERM, then SIGKILL; resolves when the process is gone. It is not started again. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await new Promise<void>((resolve) => this.#output.end(resolve));
  }

  /** At once and without waiting: for the end of our own process. */
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

  /** One life of the server. Returns why it ended. */
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
      this.#log.warn({ error }, 'an engine process is not recorded'),
    );
    const until = AbortSignal.any([ended.signal, this.#stopping.signal]);
    const verdict = await this.#watch(until);
    this.#ready = false;
    if (!ended.signal.aborted) {
      await this.#end(child, exit, ended.signal);
    }
    // What the server started must not keep its GPU.
    if (child.pid !== undefined) {
      killGroup(child.pid, 'SIGKILL');
    }
    return verdict ?? (await exit);
  }

  #spawn(): ChildProcess {
    const { settings, place, variables } = this.#plan;
    const [program = '', ...parameters] = settings.command.map((word) => fillPlace(word, place));
    // A group of its own: Ctrl-C in a terminal is for us, and the engine is stopped after its work is done.
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

  /** Looks after the server until it ends or is stopped (undefined), or must be ended (the reason). */
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
          ? `gave no healthy answer for ${settings.unhealthy_after} s`
          : `was not healthy within ${settings.start_timeout} s`;
      }
      await pause(this.#ready ? clocks.workingCheckMs : clocks.startingCheckMs, until);
    }
    return undefined;
  }

  /** Its warm-up, once in each of its lives. It has until the server's `start_timeout` is over. */
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

/** The environment of an engine's process: the harmless part of this process's own, what its entry sets, its GPU and its port. */
function engineEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  { gpu, port }: EnginePlace,
): Record<string, string> {
  const passed = Object.entries(ours).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      PASSED_ON.test(entry[0]) &&
      // under ROCm it counts anew what is left, so that our number would be another GPU's
      !(gpu !== undefined && entry[0] === 'ROCR_VISIBLE_DEVICES'),
  );
  return {
    ...Object.fromEntries(passed),
    // Numbers of nvidia-smi are those of the bus; without this CUDA sorts by speed.
    ...(gpu === undefined ? {} : { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    ...own,
    PORT: String(port),
    ...(gpu === undefined ? {} : { CUDA_VISIBLE_DEVICES: String(gpu), HIP_VISIBLE_DEVICES: String(gpu) }),
  };
}

/** A word of the command with `{port}` and `{gpu}` filled in; without a GPU `{gpu}` is empty. */
function fillPlace(word: string, { gpu, port }: EnginePlace): string {
  return word.replaceAll('{port}', String(port)).replaceAll('{gpu}', gpu === undefined ? '' : String(gpu));
}
