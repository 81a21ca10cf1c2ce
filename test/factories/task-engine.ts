import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Engine,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../../src/engines/engine.types.ts';

/** The instructions in a prompt, e.g. `run=200 fail=content_refused`. */
export interface Script {
  /** Duration of the run, in ms. */
  readonly run: number;
  /** Code of a permanent failure. */
  readonly fail?: string;
  /** Number of attempts that fail before one succeeds. */
  readonly flaky: number;
  /** Position in the engine's own queue until the run is done. */
  readonly place?: number;
  /** Whether failed runs are billed. */
  readonly bills: boolean;
  /** The first attempt is answered with 429 and this many ms to wait. */
  readonly busy?: number;
  /** Loses the answer to the submit: `accepted` with the run begun, `refused` without. */
  readonly lose?: 'accepted' | 'refused';
  /** The process dies right after the submit is accepted. */
  readonly die: boolean;
}

interface Run {
  readonly startedAt: number;
  readonly script: Script;
  canceled: boolean;
}

/**
 * An engine that does what the prompt says. It writes every submit to a journal file, which shows what killed processes had sent upstream.
 * Its "upstream" knows every run in that journal.
 */
export class ScriptedEngine implements Engine {
  readonly id: string;
  readonly kind = 'scripted';
  readonly pollIntervalMs = 5;
  readonly capabilities: Engine['capabilities'];
  readonly #journal: string;
  readonly #confirmsCancel: boolean;
  readonly #runs = new Map<string, Run>();
  readonly #failures = new Map<string, number>();
  closed = false;

  constructor(
    journal: string,
    options: {
      id?: string;
      paid?: boolean;
      cancelRunning?: boolean;
      recovers?: boolean;
      confirmsCancel?: boolean;
    } = {},
  ) {
    this.#journal = journal;
    this.id = options.id ?? 'gpu';
    this.recovers = options.recovers ?? false;
    this.#confirmsCancel = options.confirmsCancel ?? true;
    this.capabilities = {
      kinds: ['image', 'video'],
      sizeMultiple: 16,
      cancelQueued: true,
      cancelRunning: options.cancelRunning ?? true,
      paid: options.paid ?? false,
    };
  }

  /** Whether `recover` can find a run by the task's id. */
  readonly recovers: boolean;

  async submit(request: EngineRequest): Promise<string> {
    const script = scriptOf(request.prompt);
    const failed = this.#failures.get(request.taskId) ?? 0;
    if (script.busy !== undefined && failed < 1) {
      this.#failures.set(request.taskId, failed + 1);
      throw new EngineError({
        code: 'upstream_rate_limited',
        message: 'slow down',
        retryable: true,
        retryAfterMs: script.busy,
      });
    }
    if (script.lose === 'refused') {
      throw new EngineError({ code: 'submit_unconfirmed', message: 'the answer was lost', retryable: true });
    }
    appendFileSync(this.#journal, `${request.taskId} ${request.attempt} ${request.seed}\n`);
    if (script.die) {
      process.kill(process.pid, 'SIGKILL');
    }
    if (script.lose === 'accepted') {
      throw new EngineError({ code: 'submit_unconfirmed', message: 'the answer was lost', retryable: true });
    }
    const reference = `${request.taskId}.${request.attempt}`;
    this.#runs.set(reference, { startedAt: Date.now(), script, canceled: false });
    return reference;
  }

  async recover(request: EngineRequest): Promise<string | null | 'unknown'> {
    if (!this.recovers) {
      return 'unknown';
    }
    const [last] = submitsOf(this.#journal, request.taskId).slice(-1);
    return last === undefined ? null : `${request.taskId}.${last}`;
  }

  async poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    const run = this.#run(reference, request);
    if (!run) {
      throw new EngineError({ code: 'run_lost', message: 'unknown run', retryable: true });
    }
    if (run.canceled) {
      return { state: 'canceled' };
    }
    const progress = Math.min(1, (Date.now() - run.startedAt) / Math.max(1, run.script.run));
    context.onProgress(progress);
    if (progress < 1) {
      const { place } = run.script;
      return place === undefined ? { state: 'running', progress } : { state: 'queued', queuePosition: place };
    }
    const failed = this.#failures.get(request.taskId) ?? 0;
    if (run.script.fail !== undefined) {
      const failure = { code: run.script.fail, message: 'no', retryable: false };
      return { state: 'failed', failure, ...(run.script.bills && { costNanoUsd: 5n }) };
    }
    if (failed < run.script.flaky) {
      this.#failures.set(request.taskId, failed + 1);
      const failure = { code: 'upstream_error', message: 'again', retryable: true };
      return { state: 'failed', failure, ...(run.script.bills && { costNanoUsd: 5n }) };
    }
    return { state: 'succeeded', progress: 1, costNanoUsd: 7n };
  }

  async collect(_reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const path = join(context.folder, 'made.bin');
    await writeFile(path, `${request.prompt} ${request.seed} ${request.width}x${request.height}`);
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    const run = this.#runs.get(reference);
    if (run && this.capabilities.cancelRunning) {
      run.canceled = true;
      return this.#confirmsCancel ? 'stopped' : 'requested';
    }
    return this.capabilities.cancelRunning ? 'stopped' : 'unsupported';
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #run(reference: string, request: EngineRequest): Run | undefined {
    const known = this.#runs.get(reference);
    if (known || !this.recovers) {
      return known;
    }
    const run = { startedAt: Date.now(), script: scriptOf(request.prompt), canceled: false };
    this.#runs.set(reference, run);
    return run;
  }
}

/** Returns the attempts whose submits the upstream accepted, in order. */
export function submitsOf(journal: string, taskId: string): number[] {
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith(taskId)).map((line) => Number(line.split(' ')[1]));
}

/** Returns the seeds that reached the upstream, in order. */
export function seedsOf(journal: string, taskId: string): string[] {
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith(taskId)).map((line) => line.split(' ')[2] ?? '');
}

function scriptOf(prompt: string): Script {
  const words = new Map(prompt.split(' ').map((word) => word.split('=', 2) as [string, string | undefined]));
  const fail = words.get('fail');
  const busy = words.get('busy');
  const lose = words.get('lose');
  const place = words.get('place');
  return {
    run: Number(words.get('run') ?? 0),
    flaky: Number(words.get('flaky') ?? 0),
    die: words.has('die'),
    bills: words.has('bills'),
    ...(place === undefined ? {} : { place: Number(place) }),
    ...(fail === undefined ? {} : { fail }),
    ...(busy === undefined ? {} : { busy: Number(busy) }),
    ...(lose === 'accepted' || lose === 'refused' ? { lose } : {}),
  };
}
