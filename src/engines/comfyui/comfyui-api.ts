import { z } from 'zod';
import { type DeviceMemory, EngineError, type EngineFailure } from '../engine.types.ts';
import { MALFORMED, MISCONFIGURED } from '../engine-failures.ts';
import type { UpstreamAnswer } from '../upstream-answer.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import { type NodeInfo, readNodeInfo } from './missing-parts.ts';
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
const systemStats = z.looseObject({
  devices: z.array(
    z.looseObject({
      type: z.string().max(40),
      index: z.int().nullish(),
      vram_total: z.number().min(0),
      vram_free: z.number().min(0),
    }),
  ),
});
const canceled = z.looseObject({ cancelled: z.boolean() });
const jobState = z.looseObject({ status: z.string() });
const accepted = z.looseObject({
  prompt_id: z.string().min(1).max(200),
  /** Errors by node for parts of the graph that the server will not run; usually empty. */
  node_errors: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]).nullish(),
});

export type HistoryEntry = z.output<typeof historyEntry>;
export type QueuePlace =
  | { readonly state: 'running'; readonly alone: boolean }
  | { readonly state: 'queued'; readonly position: number }
  | undefined;

const CANCEL_MS = 3_000;
const NOT_FOUND = 404;
const METHOD_NOT_ALLOWED = 405;
/** Maximum number of characters of the server's message that are kept. */
const WORDS_MAX = 2_000;

/** The HTTP routes of ComfyUI (server.py) that runs need. All methods throw EngineError. */
export class ComfyUiApi {
  readonly #http: UpstreamHttp;
  readonly #jobs: string;
  #hasJobs: boolean | undefined;

  constructor(http: UpstreamHttp) {
    this.#http = http;
    // All routes also exist below /api; the job routes exist only there.
    this.#jobs = /\/api\/*$/.test(http.base.pathname) ? '/jobs' : '/api/jobs';
  }

  /** Queues a graph. Old servers choose an id of their own and return it. `leftOut` is the server's message about parts it will not run. */
  async submit(
    graph: WorkflowGraph,
    promptId: string,
    signal: AbortSignal,
    nodeKey: string,
  ): Promise<{ reference: string; leftOut: string | undefined }> {
    const json = {
      prompt: graph,
      prompt_id: promptId,
      client_id: promptId,
      // Nobody watches, so we need no previews.
      extra_data: { preview_method: 'none', ...(nodeKey && { api_key_comfy_org: nodeKey }) },
    };
    const call = { method: 'POST' as const, path: '/prompt', json, signal };
    const answer = await this.#http.submit(call, undefined, refineByValidation);
    const { prompt_id: reference, node_errors: errors } = read(accepted, answer.json);
    const isWhole = Object.keys(errors ?? {}).length === 0;
    return { reference, leftOut: isWhole ? undefined : JSON.stringify(errors).slice(0, WORDS_MAX) };
  }

  /** Returns the history entry of a run that has ended; undefined for all others. */
  async findEnded(promptId: string, signal?: AbortSignal): Promise<HistoryEntry | undefined> {
    const path = `/history/${encodeURIComponent(promptId)}`;
    const entry = read(history, await this.#expect(path, signal))[promptId];
    return entry === undefined ? undefined : read(historyEntry, entry);
  }

  /** Returns the queue place of a run that has not ended; undefined when the server does not know it. */
  async findLive(promptId: string, signal?: AbortSignal): Promise<QueuePlace> {
    const { queue_running, queue_pending } = read(queue, await this.#expect('/queue', signal));
    if (queue_running.some((item) => item[1] === promptId)) {
      return { state: 'running', alone: queue_running.length === 1 && queue_pending.length === 0 };
    }
    const position = queue_pending.findIndex((item) => item[1] === promptId);
    return position === -1 ? undefined : { state: 'queued', position: position + 1 };
  }

  /**
   * Asks `/api/jobs/{id}` whether a run is live. The response is a few bytes, whereas `/queue` sends every graph. Returns undefined when
   * the server is too old for that route.
   */
  async isLiveJob(promptId: string, signal?: AbortSignal): Promise<'running' | 'queued' | 'no' | undefined> {
    if (!(await this.hasJobs(signal))) {
      return undefined;
    }
    const answer = await this.#get(`${this.#jobs}/${encodeURIComponent(promptId)}`, signal);
    if (answer.status === NOT_FOUND) {
      return 'no';
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    const { status } = read(jobState, answer.json);
    return status === 'in_progress' ? 'running' : status === 'pending' ? 'queued' : 'no';
  }

  /**
   * Returns whether the server has `/api/jobs`. Such servers also respect the prompt_id of an interrupt; older ones stop whichever run is
   * active.
   */
  async hasJobs(signal?: AbortSignal): Promise<boolean> {
    if (this.#hasJobs === undefined) {
      const answer = await this.#get(`${this.#jobs}?limit=1`, signal);
      if (answer.failure && answer.status !== NOT_FOUND) {
        throw new EngineError(answer.failure);
      }
      this.#hasJobs =
        !answer.failure && z.looseObject({ jobs: z.array(z.unknown()) }).safeParse(answer.json).success;
    }
    return this.#hasJobs;
  }

  /** Stops a run, queued or running, in one call. Returns false when the server has no such route or had nothing to stop. */
  async cancelJob(promptId: string): Promise<boolean> {
    if (!(await this.hasJobs())) {
      return false;
    }
    const path = `${this.#jobs}/${encodeURIComponent(promptId)}/cancel`;
    const { status, failure, json } = await this.#http.call({ method: 'POST', path, totalMs: CANCEL_MS });
    if (failure && status !== NOT_FOUND && status !== METHOD_NOT_ALLOWED) {
      throw new EngineError(failure);
    }
    return !failure && canceled.safeParse(json).data?.cancelled === true;
  }

  /** Returns the server's description of a node class; undefined when it has none of that name. */
  async findNode(name: string, signal: AbortSignal): Promise<NodeInfo | undefined> {
    const answer = await this.#expect(`/object_info/${encodeURIComponent(name)}`, signal);
    return readNodeInfo(read(history, answer)[name]);
  }

  async deleteQueued(promptId: string): Promise<void> {
    await this.#post('/queue', { delete: [promptId] });
  }

  /** Removes a finished run from the history. */
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

  /** Returns the devices that the server computes on. */
  async readDevices(signal: AbortSignal): Promise<DeviceMemory[]> {
    const { devices } = read(systemStats, await this.#expect('/system_stats', signal));
    return devices.map(({ type, index, vram_total: totalBytes, vram_free: freeBytes }) => ({
      device: index == null ? type : `${type}:${index}`,
      totalBytes,
      freeBytes,
    }));
  }

  /** Unloads every model and empties the caches before the next run. */
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

/** Task parameters have been validated, so a rejected graph is the operator's problem, e.g. a missing checkpoint or node. */
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
