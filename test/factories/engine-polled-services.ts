import {
  type EngineReply,
  EngineServer,
  type SeenRequest,
  type ServerRun,
  UPSTREAM_SECRET,
} from './engine-server.ts';

/** A service that takes an order and is then polled: what the services of docs/examples/engines have in common. */
export abstract class PolledService extends EngineServer {
  /** Returns the run's id when the request is a poll, otherwise undefined. */
  protected abstract asked(seen: SeenRequest): string | undefined;
  protected abstract isOrder(seen: SeenRequest): boolean;
  protected abstract accepted201(run: ServerRun): unknown;
  protected abstract standing(run: ServerRun, state: 'waits' | 'runs' | 'done' | 'failed'): unknown;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    if (this.isOrder(seen)) {
      return this.accept(seen, (run) => ({ json: this.accepted201(run) }));
    }
    if (seen.path === '/files/output') {
      return this.output();
    }
    const id = this.asked(seen);
    if (id === undefined) {
      return undefined;
    }
    const run = this.runs.get(id);
    if (!run || this.meets('forgets')) {
      return { status: 404, json: this.errorBody() };
    }
    if (seen.method === 'DELETE') {
      run.canceled = true;
      return { status: 204, bytes: Buffer.alloc(0) };
    }
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const { done } = this.step(run);
    const state = this.meets('fails') ? 'failed' : done ? 'done' : run.polls === 1 ? 'waits' : 'runs';
    return { json: this.standing(run, state), cut: state === 'done' && this.cutsAnswer() };
  }

  /** Whether the connection breaks in the middle of the answer that contains the file. */
  protected cutsAnswer(): boolean {
    return false;
  }

  /** URL of a finished run's file; null when the fault leaves it out. */
  protected get file(): string | null {
    return this.meets('no_output') ? null : `${this.url}/files/output`;
  }
}

/** https://docs.bfl.ai: POST /v1/<model>, GET /v1/get_result. */
export class BlackForestLabsServer extends PolledService {
  protected override isOrder({ method, path }: SeenRequest): boolean {
    return method === 'POST' && /^\/v1\/[\w.-]+$/.test(path);
  }

  protected override asked({ path, query }: SeenRequest): string | undefined {
    return path === '/v1/get_result' ? (query.get('id') ?? '') : undefined;
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { id, polling_url: `${this.url}/v1/get_result?id=${id}` };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const status = { waits: 'Pending', runs: 'Pending', done: 'Ready', failed: 'Error' }[state];
    const result = state === 'done' ? { sample: this.file } : null;
    return { id, status, result, progress: null, details: state === 'failed' ? UPSTREAM_SECRET : null };
  }

  protected override errorBody(): unknown {
    return { detail: UPSTREAM_SECRET };
  }
}

/** https://docs.dev.runwayml.com/api: POST /v1/text_to_video, GET and DELETE /v1/tasks/<id>. */
export class RunwayServer extends PolledService {
  protected override isOrder({ path, headers }: SeenRequest): boolean {
    return path === '/v1/text_to_video' && headers['x-runway-version'] === '2024-11-06';
  }

  protected override asked({ path }: SeenRequest): string | undefined {
    return /^\/v1\/tasks\/([^/]+)$/.exec(path)?.[1];
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { id };
  }

  protected override standing({ id, polls }: ServerRun, state: string): unknown {
    const status = { waits: 'THROTTLED', runs: 'RUNNING', done: 'SUCCEEDED', failed: 'FAILED' }[state];
    const more =
      state === 'failed'
        ? { failure: UPSTREAM_SECRET, failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' }
        : state === 'done'
          ? { output: [this.file].filter((file) => file !== null) }
          : { progress: polls / 4 };
    return { id, status, createdAt: '2026-11-01T00:00:00Z', ...more };
  }

  protected override errorBody(): unknown {
    return { error: UPSTREAM_SECRET, docUrl: 'https://docs.dev.runwayml.com/errors' };
  }
}

/** https://docs.lumalabs.ai: POST /dream-machine/v1/generations, GET and DELETE of a single one. */
export class LumaServer extends PolledService {
  protected override isOrder({ method, path }: SeenRequest): boolean {
    return method === 'POST' && path === '/dream-machine/v1/generations';
  }

  protected override asked({ path }: SeenRequest): string | undefined {
    return /^\/dream-machine\/v1\/generations\/([^/]+)$/.exec(path)?.[1];
  }

  protected override accepted201(run: ServerRun): unknown {
    return this.standing(run, 'waits');
  }

  protected override standing({ id, body }: ServerRun, state: string): unknown {
    const word = { waits: 'queued', runs: 'dreaming', done: 'completed', failed: 'failed' }[state];
    const assets = state === 'done' ? { video: this.file } : null;
    const failure_reason = state === 'failed' ? UPSTREAM_SECRET : null;
    return { id, state: word, failure_reason, assets, request: body.json };
  }

  protected override errorBody(): unknown {
    return { detail: UPSTREAM_SECRET };
  }
}

/** https://platform.minimax.io/docs: refusals have status 200, and the file is requested by its id. */
export class MiniMaxServer extends PolledService {
  protected override route(seen: SeenRequest): EngineReply | undefined {
    if (this.isOrder(seen) && this.meets('refuses_content')) {
      return {
        json: { task_id: '', base_resp: { status_code: 1026, status_msg: `sensitive: ${UPSTREAM_SECRET}` } },
      };
    }
    if (this.isOrder(seen) && this.meets('refuses_key')) {
      return { json: { base_resp: { status_code: 2049, status_msg: 'invalid api key' } } };
    }
    if (seen.path === '/v1/files/retrieve') {
      const { file } = this;
      return { json: { file: { file_id: seen.query.get('file_id'), download_url: file }, ...FINE } };
    }
    return super.route(seen);
  }

  protected override isOrder({ path }: SeenRequest): boolean {
    return path === '/v1/video_generation';
  }

  protected override asked({ path, query }: SeenRequest): string | undefined {
    return path === '/v1/query/video_generation' ? (query.get('task_id') ?? '') : undefined;
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { task_id: id, ...FINE };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const status = { waits: 'Queueing', runs: 'Processing', done: 'Success', failed: 'Fail' }[state];
    return { task_id: id, status, file_id: state === 'done' ? '205258526306433' : '', ...FINE };
  }
}

const FINE = { base_resp: { status_code: 0, status_msg: 'success' } };

/** https://ai.google.dev/gemini-api/docs/video: a long-running operation whose name is a path. */
export class VeoServer extends PolledService {
  protected override isOrder({ method, path, headers }: SeenRequest): boolean {
    return (
      method === 'POST' && path.endsWith(':predictLongRunning') && headers['x-goog-api-key'] !== undefined
    );
  }

  protected override asked({ path }: SeenRequest): string | undefined {
    return /^\/v1beta\/models\/[^/]+\/operations\/([^/]+)$/.exec(path)?.[1];
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { name: `models/veo/operations/${id}` };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const name = `models/veo/operations/${id}`;
    if (state === 'failed') {
      return { name, done: true, error: { code: 13, message: UPSTREAM_SECRET } };
    }
    if (state !== 'done') {
      return { name };
    }
    const { file } = this;
    const generatedSamples = file === null ? [] : [{ video: { uri: file } }];
    return { name, done: true, response: { generateVideoResponse: { generatedSamples } } };
  }

  protected override errorBody(): unknown {
    return { error: { code: 400, message: UPSTREAM_SECRET, status: 'INVALID_ARGUMENT' } };
  }

  protected override refusalBody(): unknown {
    return { error: { code: 400, message: `blocked: ${UPSTREAM_SECRET}`, status: 'INVALID_ARGUMENT' } };
  }
}
