import {
  type EngineReply,
  EngineServer,
  type SeenRequest,
  type ServerRun,
  UPSTREAM_SECRET,
} from './engine-server.ts';

/** fal's queue. The URLs it returns cannot be derived from the model's name. */
export class FalServer extends EngineServer {
  /** Whether its safety check has blacked out its images. */
  blacksOut = false;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path } = seen;
    const [, id, what] = /^\/queue\/requests\/([^/]+)\/(status|response|cancel)$/.exec(path) ?? [];
    if (path === '/files/output') {
      return this.output();
    }
    if (id === undefined) {
      return method === 'POST' ? this.accept(seen, (run) => ({ json: this.#urls(run) })) : undefined;
    }
    const run = this.runs.get(id);
    if (!run || run.canceled || this.meets('forgets')) {
      return { status: 404, json: { status: 'NOT_FOUND' } };
    }
    switch (what) {
      case 'status':
        return this.#status(run);
      case 'response':
        return this.#response();
      default:
        return this.#cancel(method, run);
    }
  }

  protected override errorBody(): unknown {
    return { message: UPSTREAM_SECRET };
  }

  protected override refusalBody(): unknown {
    const loc = ['body', 'prompt'];
    return { detail: [{ loc, msg: UPSTREAM_SECRET, type: 'content_policy_violation' }] };
  }

  #urls({ id }: ServerRun): unknown {
    const base = `${this.url}/queue/requests/${id}`;
    return {
      status: 'IN_QUEUE',
      request_id: id,
      status_url: `${base}/status`,
      response_url: `${base}/response`,
      cancel_url: `${base}/cancel`,
      queue_position: 0,
    };
  }

  #status(run: ServerRun): EngineReply {
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const { done } = this.step(run);
    if (done) {
      return { json: { status: 'COMPLETED', metrics: { inference_time: 1 } } };
    }
    const state = run.polls === 1 ? { status: 'IN_QUEUE', queue_position: 4 } : { status: 'IN_PROGRESS' };
    return { status: 202, json: state };
  }

  #response(): EngineReply {
    if (this.meets('fails')) {
      return {
        status: 500,
        json: { detail: [{ loc: ['body'], msg: UPSTREAM_SECRET, type: 'internal_server_error' }] },
      };
    }
    const url = `${this.url}/files/output`;
    const seen = { images: [{ url }], video: { url }, has_nsfw_concepts: [this.blacksOut], seed: 42 };
    return { json: this.meets('no_output') ? {} : seen };
  }

  #cancel(method: string, run: ServerRun): EngineReply | undefined {
    if (method !== 'PUT') {
      return undefined;
    }
    if (run.polls <= 1) {
      run.canceled = true;
      return { json: { status: 'OK' } };
    }
    return run.polls >= 3
      ? { status: 400, json: { status: 'ALREADY_COMPLETED' } }
      : { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
  }
}
