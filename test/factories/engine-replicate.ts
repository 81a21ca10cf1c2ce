import {
  type EngineReply,
  EngineServer,
  type SeenRequest,
  type ServerRun,
  UPSTREAM_SECRET,
} from './engine-server.ts';

/** The entry of docs/adding-an-engine.md, except for the address. */
export const REPLICATE = {
  submit: {
    path: '/v1/models/{model}/predictions',
    body: {
      input: { prompt: '{prompt}', width: '{width}', height: '{height}', seed: '{seed}', steps: '{steps}' },
    },
  },
  poll: {
    path: '/v1/predictions/{reference}',
    states: {
      starting: 'queued',
      processing: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      canceled: 'canceled',
      aborted: 'canceled',
    },
    error: 'error',
  },
  output: 'output',
  cancel: { path: '/v1/predictions/{reference}/cancel' },
};

/**
 * The part of Replicate's predictions API that the example of docs/adding-an-engine.md uses. It answers a repeated `Idempotency-Key` with the
 * run of the first request, as other services do.
 */
export class ReplicateServer extends EngineServer {
  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path } = seen;
    const [, id, cancel] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
    if (method === 'POST' && /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/.test(path)) {
      return this.#submit(seen);
    }
    if (path === '/files/output') {
      return this.output();
    }
    if (id === undefined) {
      return undefined;
    }
    const run = this.runs.get(id);
    if (!run || this.meets('forgets')) {
      return { status: 404, json: { detail: 'The requested resource could not be found.', status: 404 } };
    }
    if (cancel !== undefined) {
      run.canceled = true;
      return { json: { ...this.#about(run), status: 'canceled' } };
    }
    return this.#prediction(run);
  }

  protected override errorBody(): unknown {
    return { title: 'Internal server error', detail: UPSTREAM_SECRET };
  }

  protected override refusalBody(): unknown {
    return { title: 'Input validation failed', detail: `NSFW content detected: ${UPSTREAM_SECRET}` };
  }

  #submit(seen: SeenRequest): EngineReply {
    const reply = (run: ServerRun) => ({ status: 201, json: { ...this.#about(run), status: 'starting' } });
    return this.acceptOnce(seen.headers['idempotency-key']?.toString(), seen, reply);
  }

  #about({ id, body }: ServerRun): object {
    const base = `${this.url}/v1/predictions/${id}`;
    return {
      id,
      input: body.json.input,
      error: null,
      logs: '',
      urls: { get: base, cancel: `${base}/cancel` },
    };
  }

  #prediction(run: ServerRun): EngineReply {
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const about = this.#about(run);
    if (run.canceled) {
      return { json: { ...about, status: 'canceled' } };
    }
    const { done, fraction } = this.step(run);
    run.failed ||= this.meets('fails');
    if (run.failed) {
      return { json: { ...about, status: 'failed', error: UPSTREAM_SECRET } };
    }
    if (!done) {
      return { json: { ...about, status: 'processing', progress: Math.round(fraction * 100) } };
    }
    const output = this.meets('no_output') ? null : [`${this.url}/files/output`];
    return { json: { ...about, status: 'succeeded', output } };
  }
}
