import { z } from 'zod';
import { EngineError, type EngineFailure } from '../engine.types.ts';
import { MALFORMED, MISCONFIGURED } from '../engine-failures.ts';
import type { UpstreamAnswer, UpstreamHttp } from '../upstream-http.ts';
import type { WorkflowGraph } from './workflow.ts';

const historyEntry = z.looseObject({
  outputs: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  status: z
    .looseObject({ status_str: z.string().optional(), messages: z.array(z.unknown()).optional() })
    .nullish(),
});
const history = z.record(z.string(), z.unknown());
const queueItem = z.tuple([z.unknown(), z.string()]).rest(z.unknown());
const queue = z.object({ queue_running: z.array(queueItem), queue_pending: z.array(queueItem) });
const jobState = z.looseObject({ status: z.string() });
const accepted = z.looseObject({ prompt_id: z.string().min(1).max(200) });

export type HistoryEntry = z.output<typeof historyEntry>;
export type QueuePlace =
  | { readonly state: 'running'; readonly alone: boolean }
  | { readonly state: 'queued'; readonly position: number }
  | undefined;

const CANCEL_MS = 3_000;
const NOT_FOUND = 404;

/** ComfyUI's HTTP routes (server.py) as far as runs need them. Throws EngineError. */
export class ComfyUiApi {
  readonly #http: UpstreamHttp;
  #hasJobs: boolean | undefined;

  constructor(http: UpstreamHttp) {
    this.#http = http;
  }

  /** Queues a graph. Old servers choose an id of their own and return it. */
  async submit(graph: WorkflowGraph, promptId: string, signal: AbortSignal): Promise<string> {
    const json = {
      prompt: graph,
      prompt_id: promptId,
      client_id: promptId,
      // Previews are for people who watch.
      extra_data: { preview_method: 'none' },
    };
    const call = { method: 'POST' as const, path: '/prompt', json, signal };
    const answer = await this.#http.submit(call, undefined, refineByValidation);
    return read(accepted, answer.json).prompt_id;
  }

  /** What the server remembers of a run that has ended; undefined for all others. */
  async findEnded(promptId: string, signal?: AbortSignal): Promise<HistoryEntry | undefined> {
    const path = `/history/${encodeURIComponent(promptId)}`;
    const entry = read(history, await this.#expect(path, signal))[promptId];
    return entry === undefined ? undefined : read(historyEntry, entry);
  }

  /** Where a run stands that has not ended; undefined when the server does not know it. */
  async findLive(promptId: string, signal?: AbortSignal): Promise<QueuePlace> {
    const { queue_running, queue_pending } = read(queue, await this.#expect('/queue', signal));
    if (queue_running.some((item) => item[1] === promptId)) {
      return { state: 'running', alone: queue_running.length === 1 && queue_pending.length === 0 };
    }
    const position = queue_pending.findIndex((item) => item[1] === promptId);
    return position === -1 ? undefined : { state: 'queued', position: position + 1 };
  }

  /**
   * Whether the server knows the run and has it before it, by `/api/jobs/{id}`: an answer of a few bytes where `/queue` sends every
   * graph. Undefined where the server is too old for that route.
   */
  async isLiveJob(promptId: string, signal?: AbortSignal): Promise<'running' | 'queued' | 'no' | undefined> {
    if (!(await this.hasJobs(signal))) {
      return undefined;
    }
    const answer = await this.#get(`/api/jobs/${encodeURIComponent(promptId)}`, signal);
    if (answer.status === NOT_FOUND) {
      return 'no';
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    const { status } = read(jobState, answer.json);
    return status === 'in_progress' ? 'running' : status === 'pending' ? 'queued' : 'no';
  }

  /** Whether the server has `/api/jobs`. Such servers also read the prompt_id of an interrupt; older ones stop whatever runs. */
  async hasJobs(signal?: AbortSignal): Promise<boolean> {
    if (this.#hasJobs === undefined) {
      const answer = await this.#get('/api/jobs?limit=1', signal);
      if (answer.failure && answer.status !== NOT_FOUND) {
        throw new EngineError(answer.failure);
      }
      this.#hasJobs =
        !answer.failure && z.looseObject({ jobs: z.array(z.unknown()) }).safeParse(answer.json).success;
    }
    return this.#hasJobs;
  }

  async deleteQueued(promptId: string): Promise<void> {
    await this.#post('/queue', { delete: [promptId] });
  }

  /** Removes a run that has ended from the history. */
  async forget(promptId: string, signal: AbortSignal): Promise<void> {
    const json = { delete: [promptId] };
    const { failure } = await this.#http.call({ method: 'POST', path: '/history', json, signal });
    if (failure) {
      throw new EngineError(failure);
    }
  }

  async interrupt(promptId: string): Promise<void> {
    await this.#post('/interrupt', { prompt_id: promptId });
  }

  /** Unloads every model and empties the caches, before the next run. */
  async freeMemory(signal: AbortSignal): Promise<void> {
    const json = { unload_models: true, free_memory: true };
    const { failure } = await this.#http.call({ method: 'POST', path: '/free', json, signal });
    if (failure) {
      throw new EngineError(failure);
    }
  }

  async #get(path: string, signal: AbortSignal | undefined): Promise<UpstreamAnswer> {
    return await this.#http.call({ method: 'GET', path, ...(signal ? { signal } : { totalMs: CANCEL_MS }) });
  }

  async #expect(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    return await this.#http.expect({
      method: 'GET',
      path,
      ...(signal ? { signal } : { totalMs: CANCEL_MS }),
    });
  }

  async #post(path: string, json: object): Promise<void> {
    const { failure } = await this.#http.call({ method: 'POST', path, json, totalMs: CANCEL_MS });
    if (failure) {
      throw new EngineError(failure);
    }
  }
}

/** What a task asks for has been checked: a graph that the server does not take is the operator's (a missing checkpoint or node). */
function refineByValidation(failure: EngineFailure): EngineFailure {
  return failure.code === 'upstream_rejected' ? MISCONFIGURED : failure;
}

function read<T extends z.ZodType>(schema: T, json: unknown): z.output<T> {
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw new EngineError(MALFORMED);
  }
  return parsed.data;
}
