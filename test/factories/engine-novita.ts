import { type EngineReply, EngineServer, type SeenRequest, UPSTREAM_SECRET } from './engine-server.ts';

/** Novita's asynchronous API. With `tollgate` it also honors Idempotency-Key, cancels runs and reports charges, like another Tollgate. */
export class NovitaServer extends EngineServer {
  tollgate = false;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path, query } = seen;
    if (path === '/v3/async/task-result') {
      return this.#result(query.get('task_id') ?? '');
    }
    if (method === 'POST' && path.startsWith('/v3/async/')) {
      return this.#submit(seen);
    }
    const [, canceled] = /^\/api\/v1\/tasks\/([^/]+)\/cancel$/.exec(path) ?? [];
    if (this.tollgate && canceled !== undefined) {
      return this.#cancel(canceled);
    }
    return path === '/media/output' ? this.output() : undefined;
  }

  protected override errorBody(): unknown {
    return { code: 500, reason: 'CREATE_TASK_FAILED', message: UPSTREAM_SECRET, metadata: {} };
  }

  protected override refusalBody(): unknown {
    return { code: 400, reason: 'ILLEGAL_PROMPT', message: UPSTREAM_SECRET, metadata: {} };
  }

  #submit(seen: SeenRequest): EngineReply {
    const key = this.tollgate ? seen.headers['idempotency-key']?.toString() : undefined;
    return this.acceptOnce(key, seen, (run, isRepeated) => ({
      json: { task_id: run.id },
      ...(isRepeated && { headers: { 'idempotent-replayed': 'true' } }),
    }));
  }

  #result(id: string): EngineReply {
    const run = this.runs.get(id);
    if (!run || this.meets('forgets')) {
      return { status: 404, json: { code: 404, reason: 'TASK_NOT_FOUND', message: UPSTREAM_SECRET } };
    }
    const broken = this.brokenPoll();
    if (broken) {
      return broken;
    }
    const { done, fraction } = this.step(run);
    const task = { task_id: id, task_type: 'TXT_TO_IMG', reason: '', eta: 0 };
    const images: unknown[] = [];
    const videos: unknown[] = [];
    const body = { extra: { seed: '42' }, images, videos, audios: [] };
    if (this.meets('fails')) {
      const reason = `TASK_FAILED: ${UPSTREAM_SECRET}`;
      return {
        json: { ...body, task: { ...task, status: 'TASK_STATUS_FAILED', reason, progress_percent: 0 } },
      };
    }
    if (run.canceled) {
      const reason = 'CANCELED: canceled by client';
      return {
        json: { ...body, task: { ...task, status: 'TASK_STATUS_FAILED', reason, progress_percent: 0 } },
      };
    }
    if (!done) {
      const percent = Math.round(fraction * 100);
      const status = run.polls === 1 ? 'TASK_STATUS_QUEUED' : 'TASK_STATUS_PROCESSING';
      return { json: { ...body, task: { ...task, status, progress_percent: percent } } };
    }
    if (!this.meets('no_output')) {
      const url = `${this.url}/media/output`;
      images.push({ image_url: url, image_url_ttl: '3600', image_type: 'png' });
      videos.push({ video_url: url, video_url_ttl: '3600', video_type: 'mp4' });
    }
    const extra = { ...body.extra, ...(this.tollgate ? { charged_amount: '0.005', currency: 'USD' } : {}) };
    return {
      json: { ...body, extra, task: { ...task, status: 'TASK_STATUS_SUCCEED', progress_percent: 100 } },
    };
  }

  #cancel(id: string): EngineReply {
    const run = this.runs.get(id);
    if (run) {
      run.canceled = true;
    }
    return { status: run && run.polls > 1 ? 202 : 200, json: { data: {} } };
  }
}
