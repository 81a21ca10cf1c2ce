import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type EngineReply,
  EngineServer,
  POLLS_UNTIL_DONE,
  type SeenRequest,
  type ServerRun,
  UPSTREAM_SECRET,
} from './engine-server.ts';

const NODES = {
  KSampler: { input: { required: { seed: ['INT', {}], sampler_name: ['COMBO', { options: ['euler'] }] } } },
  EmptyLatentImage: { input: { required: { width: ['INT', {}], height: ['INT', {}] } } },
  CLIPTextEncode: { input: { required: { text: ['STRING', { multiline: true }] } } },
  CheckpointLoaderSimple: { input: { required: { ckpt_name: [['one.safetensors', 'two.safetensors']] } } },
  SaveImage: { input: { required: { images: ['IMAGE'] }, optional: { filename_prefix: ['STRING', {}] } } },
};

/** Maximum side length in pixels, a limit of the nodes themselves. */
const RESOLUTION_MAX = 16_384;

function isTooWide({ prompt }: SeenRequest['json']): boolean {
  return Object.values<{ inputs: { width?: number } }>(prompt).some(
    ({ inputs }) => (inputs.width ?? 0) > RESOLUTION_MAX,
  );
}

function withoutFileNames(graph: object): string {
  return JSON.stringify(graph, (name, value) => (name === 'filename_prefix' ? undefined : value));
}

/** ComfyUI's routes and its websocket. One graph runs at a time; each query of the history advances it by one step. */
export class ComfyUiServer extends EngineServer {
  /** Has no /api/jobs, like old servers, which interrupt whatever runs. */
  old = false;
  /** Ignores the prompt_id of the client, as old servers do. */
  ownIds = false;
  /** Ids that `interrupt` was asked to stop; `undefined` for old servers, which take no id. */
  readonly interrupted: (string | undefined)[] = [];
  /** Has POST /api/jobs/{id}/cancel. */
  cancelsJobs = false;
  /** Ids canceled through that route. */
  readonly canceledJobs: string[] = [];
  /** The node classes it reports. */
  nodes: Record<string, object | undefined> = { ...NODES };
  /** The `node_errors` of its answers: parts of the graph that it leaves out. */
  nodeErrors: object = {};
  /** What it says of a run that fails. */
  exceptionMessage = UPSTREAM_SECRET;
  /** Runs that are done as soon as they are accepted: all of them, or those whose graph has run before, as in ComfyUI. */
  doneAtOnce: 'none' | 'known' | 'all' = 'none';
  /** Number of requests to unload its models. */
  freed = 0;
  readonly #sockets = new Map<string, Duplex>();

  /** Sends a JSON message to the client that listens for a run. Returns false when none does. */
  tell(promptId: string, type: string, data: object): boolean {
    const socket = this.#sockets.get(promptId);
    const text = Buffer.from(JSON.stringify({ type, data: { prompt_id: promptId, ...data } }));
    // RFC 6455 §5.2: a final text frame with a length of 16 bits.
    const head = Buffer.from([0x81, 126, text.length >> 8, text.length & 0xff]);
    return socket?.write(Buffer.concat([head, text])) ?? false;
  }

  get listeners(): number {
    return this.#sockets.size;
  }

  protected override upgrade(request: IncomingMessage, socket: Duplex): void {
    const client = new URL(request.url ?? '', 'http://engine').searchParams.get('clientId') ?? '';
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    this.#sockets.set(client, socket);
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.resume();
    socket.on('close', () => this.#sockets.delete(client));
  }

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path, json } = seen;
    const [, past] = /^\/history\/([^/]+)$/.exec(path) ?? [];
    const [, job] = /^\/api\/jobs\/([^/]+)$/.exec(path) ?? [];
    if (method === 'POST' && path === '/prompt' && isTooWide(json)) {
      return { status: 400, json: this.refusalBody() };
    }
    if (method === 'POST' && path === '/prompt') {
      const isDone = this.doneAtOnce === 'all' || (this.doneAtOnce === 'known' && this.#hasRun(json.prompt));
      return this.accept(
        seen,
        (run) => {
          run.polls = isDone ? POLLS_UNTIL_DONE : 0;
          return { json: { prompt_id: run.id, number: 1, node_errors: this.nodeErrors } };
        },
        this.ownIds ? undefined : json.prompt_id,
      );
    }
    if (past !== undefined) {
      return this.#history(past);
    }
    const [, node] = /^\/object_info\/([^/]+)$/.exec(path) ?? [];
    if (node !== undefined) {
      return { json: Object.hasOwn(this.nodes, node) ? { [node]: this.nodes[node] } : {} };
    }
    const [, doomed] = /^\/api\/jobs\/([^/]+)\/cancel$/.exec(path) ?? [];
    if (doomed !== undefined) {
      return method === 'POST' && this.cancelsJobs ? this.#cancelJob(doomed) : { status: 405, json: null };
    }
    if (path.startsWith('/api/jobs') && !this.old) {
      return job === undefined ? { json: { jobs: [] } } : this.#job(job);
    }
    switch (path) {
      case '/queue':
        return method === 'POST' ? this.#delete(json.delete) : this.#queue();
      case '/history':
        return this.#forget(json.delete);
      case '/interrupt':
        return this.#interrupt(json.prompt_id);
      case '/system_stats': {
        const device = { name: 'cuda:0 NVIDIA L4', type: 'cuda', index: 0, vram_total: 24e9, vram_free: 4e9 };
        return { json: { system: { os: 'posix' }, devices: [device] } };
      }
      case '/free':
        this.freed += 1;
        return { json: null };
      case '/view':
        return this.output();
      default:
        return undefined;
    }
  }

  protected override refusalBody(): unknown {
    return {
      error: { type: 'prompt_outputs_failed_validation', message: UPSTREAM_SECRET },
      node_errors: { 6: {} },
    };
  }

  /** Whether a graph that differs only in its file names was accepted before. */
  #hasRun(graph: object): boolean {
    const text = withoutFileNames(graph);
    return [...this.runs.values()].some(({ body }) => withoutFileNames(body.json.prompt) === text);
  }

  #live(): ServerRun[] {
    return [...this.runs.values()].filter((run) => !run.canceled && run.polls < POLLS_UNTIL_DONE);
  }

  #history(id: string): EngineReply {
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const run = this.runs.get(id);
    if (!run || this.meets('forgets')) {
      this.runs.delete(id);
      return { json: {} };
    }
    if (run.canceled) {
      const messages = [
        ['execution_start', {}],
        ['execution_interrupted', { prompt_id: id }],
      ];
      return { json: { [id]: { outputs: {}, status: { status_str: 'error', completed: false, messages } } } };
    }
    const { done } = this.step(run);
    if (!done) {
      run.polls = Math.min(run.polls, 2);
      return { json: {} };
    }
    run.failed ||= this.meets('fails');
    if (run.failed) {
      const error = { exception_type: 'torch.OutOfMemoryError', exception_message: this.exceptionMessage };
      const messages = [['execution_error', error]];
      return { json: { [id]: { outputs: {}, status: { status_str: 'error', completed: false, messages } } } };
    }
    return {
      json: {
        [id]: { outputs: this.#outputs(), status: { status_str: 'success', completed: true, messages: [] } },
      },
    };
  }

  #outputs(): unknown {
    if (this.meets('no_output')) {
      return { 9: { images: [{ filename: 'preview.png', subfolder: '', type: 'temp' }] } };
    }
    const image = { filename: 'ComfyUI_00001_.png', subfolder: 'day one', type: 'output' };
    const video = { filename: 'ComfyUI_00001_.mp4', subfolder: '', type: 'output' };
    const preview = { filename: 'preview.png', subfolder: '', type: 'temp' };
    return { 8: { images: [preview] }, 9: { images: [image] }, 10: { gifs: [video], animated: [true] } };
  }

  #job(id: string): EngineReply {
    const [first] = this.#live();
    if (!this.#live().some((run) => run.id === id)) {
      return { status: 404, json: { error: 'Job not found' } };
    }
    return { json: { id, status: first?.id === id ? 'in_progress' : 'pending' } };
  }

  #cancelJob(id: string): EngineReply {
    const live = this.#live().find((run) => run.id === id);
    if (live) {
      this.canceledJobs.push(id);
      live.canceled = true;
    }
    return { json: { cancelled: live !== undefined } };
  }

  #queue(): EngineReply {
    const [first, ...others] = this.#live().map((run) => [1, run.id, {}, {}, []]);
    return { json: { queue_running: first ? [first] : [], queue_pending: others } };
  }

  #delete(ids: string[]): EngineReply {
    const [, ...waiting] = this.#live();
    for (const { id } of waiting.filter((run) => ids.includes(run.id))) {
      this.runs.delete(id);
    }
    return { json: {} };
  }

  #forget(ids: string[]): EngineReply {
    for (const id of ids) {
      this.runs.delete(id);
    }
    return { json: null };
  }

  #interrupt(id: string | undefined): EngineReply {
    const [running] = this.#live();
    const target = this.old ? undefined : id;
    this.interrupted.push(target);
    if (running && (this.old || running.id === id)) {
      running.canceled = true;
    }
    return { json: {} };
  }
}
