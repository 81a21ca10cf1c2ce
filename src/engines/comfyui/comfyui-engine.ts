import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hexToUuid } from '../../lib/ids.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { downloadOutput, OUTPUT_UNAVAILABLE, type OutputDownload } from '../download-output.ts';
import {
  type DeviceMemory,
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import {
  MISCONFIGURED,
  NO_OUTPUT,
  RUN_LOST,
  UPSTREAM_ERROR,
  withUpstreamMessage,
} from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import type { EngineKind } from '../registry.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import type { UpstreamHttpSettings } from '../upstream-http.ts';
import { ComfyUiApi } from './comfyui-api.ts';
import { type ComfyUiSettings, comfyUiSettings } from './comfyui-settings.ts';
import { filesOf, statusOfEnded, viewPath } from './ended-run.ts';
import { classesOf, missingParts, type NodeInfo } from './missing-parts.ts';
import { ProgressSockets } from './progress-sockets.ts';
import { fillWorkflow, readWorkflows, type Workflow, workflowFiles } from './workflow.ts';

/** Maximum number of failed runs of one task on one server before we stop looking for a free id. */
const RUNS_PER_TASK_MAX = 16;

const POLL_INTERVAL_MS = 1_000;
const CONFIRM_TRIES = 20;
const CONFIRM_PAUSE_MS = 100;
const OUTPUTS_MAX = 8;
/** Maximum number of runs whose left-out parts are remembered. */
const PARTIAL_RUNS_MAX = 1_000;

/** Returns the engine kind `comfyui` of tollgate.yaml. Relative workflow files are resolved against `folder`. */
export function comfyUiKind(folder: string): EngineKind {
  return {
    slotsDefault: 1,
    freesMemory: true,
    files: (settings) => workflowFiles(settings, folder),
    create: (settings) => new ComfyUiEngine(parseEngineSettings(comfyUiSettings, settings), folder),
  };
}

/** Runs workflows on a ComfyUI server under our own ids, so any process can find a run again. */
export class ComfyUiEngine extends UpstreamEngine<ComfyUiSettings> {
  readonly capabilities: EngineCapabilities;
  readonly #workflows: ReadonlyMap<string, Workflow>;
  readonly #httpSettings: UpstreamHttpSettings;
  readonly #api = new ComfyUiApi(this.http);
  readonly #sockets = new ProgressSockets();
  /** The server's message for each run that it accepted only in part. */
  readonly #leftOut = new LruMap<string, string>(PARTIAL_RUNS_MAX);

  /** Reads the workflow files. Throws EngineSettingsError. */
  constructor(settings: ComfyUiSettings, folder: string) {
    const http = toHttpSettings(settings, bearer(settings.api_key));
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/queue' });
    this.#httpSettings = http;
    this.#workflows = readWorkflows(settings, folder);
    this.capabilities = {
      kinds: [...new Set([...this.#workflows.values()].map((workflow) => workflow.settings.kind))],
      sizeMultiple: settings.size_multiple,
      cancelQueued: true,
      cancelRunning: true,
      paid: settings.comfy_org_api_key !== '',
    };
  }

  modelError(model: string, kind: 'image' | 'video'): string | undefined {
    const workflow = this.#workflows.get(model);
    if (!workflow) {
      return `engines.${this.id}.workflows has no ${model}`;
    }
    return workflow.settings.kind === kind ? undefined : `workflow ${model} does not generate ${kind}s`;
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const workflow = this.#workflowOf(request);
    const { found, free } = await this.#look(request, context);
    if (found !== undefined) {
      return found;
    }
    this.#listen(free, workflow, context);
    const graph = fillWorkflow(workflow, request, this.settings);
    try {
      const key = this.settings.comfy_org_api_key;
      const { reference, leftOut } = await this.#api.submit(graph, free, context.signal, key);
      if (reference !== free) {
        this.#sockets.close(free);
      }
      if (leftOut !== undefined) {
        this.#leftOut.set(reference, leftOut);
      }
      return reference;
    } catch (error) {
      this.#sockets.close(free);
      throw error;
    }
  }

  /** Never returns `null` for a paid engine: a server forgets its runs when it restarts, so a billed run may have existed. */
  override async recover(request: EngineRequest, context: EngineContext): Promise<string | null | 'unknown'> {
    const { found } = await this.#look(request, context);
    return found ?? (this.capabilities.paid ? 'unknown' : null);
  }

  async poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    this.#listen(reference, this.#workflowOf(request), context);
    const status = await this.#state(reference, context.signal);
    if (status === undefined) {
      this.#sockets.close(reference);
      return { state: 'failed', failure: RUN_LOST };
    }
    if (status.state !== 'queued' && status.state !== 'running') {
      this.#sockets.close(reference);
    }
    return status;
  }

  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const entry = await this.#api.findEnded(reference, signal);
    if (!entry) {
      throw new EngineError(RUN_LOST);
    }
    const { output_node } = this.#workflowOf(request).settings;
    const files = filesOf(entry, request.kind, output_node).slice(0, OUTPUTS_MAX);
    if (files.length === 0) {
      throw await this.#withoutOutput(reference, signal);
    }
    const outputs: EngineOutput[] = [];
    for (const [index, file] of files.entries()) {
      const path = join(folder, `output-${index}.bin`);
      const from = viewPath(file);
      await this.#download(reference, { from, path, kind: request.kind, signal });
      outputs.push({ index, file: path });
    }
    return outputs;
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    this.#sockets.close(reference);
    if (await this.#api.cancelJob(reference)) {
      return (await this.#isGone(reference)) ? 'stopped' : 'requested';
    }
    await this.#api.deleteQueued(reference);
    const live = await this.#api.findLive(reference);
    if (live?.state !== 'running') {
      return live ? 'requested' : 'stopped';
    }
    // Old servers ignore the id and would stop another task's run if ours just ended. Interrupt them only when nothing else is queued.
    if (!live.alone && !(await this.#api.hasJobs())) {
      return 'unsupported';
    }
    await this.#api.interrupt(reference);
    return (await this.#isGone(reference)) ? 'stopped' : 'requested';
  }

  async findMistakes(signal: AbortSignal): Promise<string[]> {
    const known = new Map<string, NodeInfo | undefined>();
    for (const name of classesOf(this.#workflows)) {
      known.set(name, await this.#api.findNode(name, signal));
    }
    return missingParts(this.#workflows, known);
  }

  async readMemory(signal: AbortSignal): Promise<DeviceMemory[]> {
    return await this.#api.readDevices(signal);
  }

  async freeMemory(signal: AbortSignal): Promise<void> {
    await this.#api.freeMemory(signal);
  }

  override async close(): Promise<void> {
    this.#sockets.closeAll();
    await super.close();
  }

  /** Downloads a file. If it is gone, deletes the run from the history, so that it is repeated, unless it was paid for. Throws EngineError. */
  async #download(reference: string, download: OutputDownload): Promise<void> {
    try {
      await downloadOutput(this.http, download);
    } catch (error) {
      const isGone = error instanceof EngineError && error.failure.code === OUTPUT_UNAVAILABLE.code;
      // the next attempt finds a paid run again and fetches its file
      if (!isGone || this.capabilities.paid) {
        throw error;
      }
      await this.#api.forget(reference, download.signal);
      throw new EngineError(RUN_LOST, { cause: error });
    }
  }

  /**
   * Returns the error for a run without an output. If its graph was accepted only in part, that is the operator's problem, and the run is
   * deleted from the history so it can be repeated once the problem is fixed.
   */
  async #withoutOutput(reference: string, signal: AbortSignal): Promise<EngineError> {
    const leftOut = this.#leftOut.get(reference);
    if (leftOut === undefined) {
      return new EngineError(NO_OUTPUT);
    }
    this.#leftOut.delete(reference);
    await this.#api.forget(reference, signal);
    return new EngineError(withUpstreamMessage(MISCONFIGURED, leftOut));
  }

  #workflowOf(request: EngineRequest): Workflow {
    const workflow = this.#workflows.get(request.model);
    if (workflow?.settings.kind !== request.kind) {
      const message = 'the engine has no workflow for this model';
      throw new EngineError({ code: 'unknown_workflow', message, retryable: false });
    }
    return workflow;
  }

  /** Returns the task's run if one is live, or succeeded with files of use, else the first id that the server has not seen. */
  async #look(request: EngineRequest, { signal }: EngineContext): Promise<{ found?: string; free: string }> {
    for (let run = 0; run < RUNS_PER_TASK_MAX; run += 1) {
      const promptId = promptIdOf(request.taskId, run);
      const status = await this.#state(promptId, signal);
      if (status === undefined) {
        return { free: promptId };
      }
      const isUseless = status.state === 'succeeded' && request.again;
      if (status.state !== 'failed' && status.state !== 'canceled' && !isUseless) {
        return { found: promptId, free: promptId };
      }
    }
    throw new EngineError({ ...UPSTREAM_ERROR, retryable: false });
  }

  /** Returns the status of a run; undefined when the server does not know it. */
  async #state(promptId: string, signal: AbortSignal): Promise<EngineStatus | undefined> {
    const ended = await this.#api.findEnded(promptId, signal);
    if (ended) {
      return statusOfEnded(ended);
    }
    const job = await this.#api.isLiveJob(promptId, signal);
    const live =
      job === 'running' ? { state: job } : job === 'no' ? undefined : await this.#place(promptId, signal);
    if (live) {
      return live;
    }
    // The run may have ended between the two calls.
    const lately = await this.#api.findEnded(promptId, signal);
    return lately && statusOfEnded(lately);
  }

  async #place(promptId: string, signal: AbortSignal): Promise<EngineStatus | undefined> {
    const live = await this.#api.findLive(promptId, signal);
    return live?.state === 'queued'
      ? { state: 'queued', queuePosition: live.position }
      : live && { state: 'running' };
  }

  async #isGone(reference: string): Promise<boolean> {
    for (let attempt = 0; attempt < CONFIRM_TRIES; attempt += 1) {
      if (!(await this.#api.findLive(reference))) {
        return true;
      }
      await delay(CONFIRM_PAUSE_MS);
    }
    return false;
  }

  #listen(promptId: string, { graph }: Workflow, { signal, onProgress }: EngineContext): void {
    const url = this.http.urlOf(`/ws?${new URLSearchParams({ clientId: promptId })}`);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const { headers } = this.#httpSettings;
    const nodes = Object.keys(graph).length;
    this.#sockets.open({ url: url.href, headers, promptId, nodes, onProgress }, signal);
  }
}

/**
 * Returns the prompt_id of a task's nth run (from 0) on a server. The first is the task's own id. Later runs need other ids, because the
 * history would return the failed run.
 */
export function promptIdOf(taskId: string, run: number): string {
  if (run === 0) {
    return taskId;
  }
  const hex = createHash('sha256').update(`${taskId}/${run}`).digest('hex');
  // A UUID of version 8 and variant 8 (RFC 9562 §5.8).
  return hexToUuid(`${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17, 32)}`);
}
