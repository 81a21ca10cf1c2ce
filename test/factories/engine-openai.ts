import { type EngineReply, EngineServer, type SeenRequest } from './engine-server.ts';

/** OpenAI's Images API, and the Videos API as vLLM-Omni and SGLang serve it, at `{url}/v1`. */
export class OpenAiImageServer extends EngineServer {
  /** `both`: as servers in Go do, with an empty base64 beside the URL. */
  imageAs: 'b64' | 'url' | 'both' = 'b64';
  /** Delay before the answer with an image begins, in ms. */
  delayMs = 0;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path } = seen;
    const [, id, content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? [];
    if (method === 'POST' && path === '/v1/images/generations') {
      return this.#image(seen);
    }
    if (method === 'POST' && path === '/v1/videos') {
      return this.accept(seen, (run) => ({ json: { id: run.id, object: 'video', status: 'queued' } }));
    }
    if (path === '/files/image.png') {
      return this.output();
    }
    return id === undefined ? undefined : this.#video(method, id, content !== undefined);
  }

  #image(seen: SeenRequest): EngineReply {
    return this.accept(seen, () => {
      if (this.meets('never_finishes')) {
        return { silent: true };
      }
      if (this.meets('no_output')) {
        return { json: { created: 1, data: [] } };
      }
      const url = `${this.url}/files/image.png`;
      const data = {
        b64: () => ({ b64_json: this.base64() }),
        url: () => ({ url }),
        both: () => ({ b64_json: '', url }),
      }[this.imageAs]();
      const cut = this.imageAs === 'b64' && this.meets('output_cut');
      return { json: { created: 1, data: [data] }, cut };
    });
  }

  #video(method: string, id: string, content: boolean): EngineReply {
    const run = this.runs.get(id);
    if (!run || this.meets('forgets')) {
      return { status: 404, json: this.errorBody() };
    }
    if (method === 'DELETE') {
      run.canceled = true;
      return { json: { id, deleted: true, object: 'video.deleted' } };
    }
    if (content) {
      return this.output();
    }
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const { done, fraction } = this.step(run);
    if (this.meets('fails')) {
      const error = { code: 'generation_failed', message: UPSTREAM_OUT_OF_MEMORY };
      return { json: { id, status: 'failed', progress: 0, error } };
    }
    const status = done ? 'completed' : 'in_progress';
    return { json: { id, status, progress: Math.round(fraction * 100), error: null } };
  }
}

const UPSTREAM_OUT_OF_MEMORY = 'CUDA out of memory. Tried to allocate 2.00 GiB';
