import {
  type EngineReply,
  EngineServer,
  type SeenRequest,
  type ServerRun,
  UPSTREAM_SECRET,
} from './engine-server.ts';

/** sd-server of stable-diffusion.cpp with its native routes. Members are in alphabetical order, as its JSON library writes them. */
export class SdServer extends EngineServer {
  /** Whether an image model is loaded. */
  makesNoVideos = false;
  /** The capabilities it reports; undefined for a server that is too old to report any. */
  capabilities: object | undefined;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path } = seen;
    const [, id, cancel] = /^\/sdcpp\/v1\/jobs\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
    if (path === '/sdcpp/v1/capabilities') {
      const json = this.makesNoVideos ? { supported_modes: ['img_gen'] } : this.capabilities;
      return json && { json };
    }
    if (method === 'POST' && /^\/sdcpp\/v1\/(img|vid)_gen$/.test(path)) {
      return this.accept(seen, (run) => ({
        status: 202,
        json: { created: 1, id: run.id, kind: path.slice(-7), status: 'queued' },
      }));
    }
    if (id === undefined) {
      return undefined;
    }
    const run = this.runs.get(id);
    if (!run) {
      return { status: 404, json: { error: { code: 'job_not_found', message: UPSTREAM_SECRET } } };
    }
    if (this.meets('forgets')) {
      return { status: 410, json: { error: { code: 'job_expired', message: UPSTREAM_SECRET } } };
    }
    return cancel === undefined ? this.#job(run) : this.#cancel(run);
  }

  #job(run: ServerRun): EngineReply {
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const { done } = this.step(run);
    if (run.canceled) {
      return { json: { error: { code: 'cancelled' }, id: run.id, status: 'cancelled' } };
    }
    if (this.meets('fails')) {
      const error = { code: 'generation_failed', message: UPSTREAM_SECRET };
      return { json: { error, id: run.id, result: null, status: 'failed' } };
    }
    if (!done) {
      const queued = run.polls === 1;
      const json = { error: null, id: run.id, queue_position: queued ? 1 : 0, result: null };
      return { json: { ...json, status: queued ? 'queued' : 'generating' } };
    }
    const result = this.#result(run);
    const cut = this.meets('output_cut');
    return { json: { error: null, id: run.id, queue_position: 0, result, status: 'completed' }, cut };
  }

  #result(run: ServerRun): unknown {
    if (this.meets('no_output')) {
      return { images: [], output_format: 'png' };
    }
    const b64_json = this.base64();
    return run.body.path.endsWith('img_gen')
      ? { images: [{ b64_json, index: 0 }], output_format: 'png' }
      : { b64_json, fps: 16, frame_count: 81, mime_type: 'video/webm' };
  }

  #cancel(run: ServerRun): EngineReply {
    run.canceled = run.polls <= 1;
    return run.canceled
      ? { json: { id: run.id, status: 'cancelled' } }
      : { status: 409, json: { error: { code: 'cannot_cancel', message: UPSTREAM_SECRET } } };
  }
}
