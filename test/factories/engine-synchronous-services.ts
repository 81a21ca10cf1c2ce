import { type EngineReply, EngineServer, type SeenRequest, UPSTREAM_SECRET } from './engine-server.ts';

/** A service whose answer to the order contains the image, after as long as the fault says. */
export abstract class SynchronousService extends EngineServer {
  protected answer(seen: SeenRequest, body: (image: string) => unknown): EngineReply {
    return this.accept(seen, () => {
      if (this.meets('never_finishes')) {
        return { silent: true };
      }
      if (this.meets('no_output')) {
        return { json: body('') };
      }
      return { json: body(this.base64()), cut: this.meets('output_cut') };
    });
  }
}

/** https://platform.stability.ai/docs/api-reference: takes a form, and answers JSON when that is accepted. */
export class StabilityServer extends SynchronousService {
  protected override route(seen: SeenRequest): EngineReply | undefined {
    const { method, path, headers } = seen;
    if (method !== 'POST' || !path.startsWith('/v2beta/stable-image/generate/')) {
      return undefined;
    }
    if (
      !headers['content-type']?.startsWith('multipart/form-data') ||
      headers.accept !== 'application/json'
    ) {
      return { status: 400, json: this.errorBody() };
    }
    return this.answer(seen, (image) => ({ seed: 343_940_597, finish_reason: 'SUCCESS', image }));
  }

  protected override errorBody(): unknown {
    return { id: 'a1', name: 'bad_request', errors: [UPSTREAM_SECRET] };
  }

  protected override refusalBody(): unknown {
    return { id: 'a1', name: 'content_moderation', errors: [UPSTREAM_SECRET] };
  }
}

/** AUTOMATIC1111's API (/docs of the server): a list of images in base64. */
export class Automatic1111Server extends SynchronousService {
  /** Number of requests to interrupt the current run. */
  interrupted = 0;

  protected override route(seen: SeenRequest): EngineReply | undefined {
    switch (seen.path) {
      case '/sdapi/v1/txt2img':
        return this.answer(seen, (image) => ({
          images: image === '' ? [] : [image],
          parameters: seen.json,
          info: '{"seed": 42}',
        }));
      case '/sdapi/v1/interrupt':
        this.interrupted += 1;
        return { json: {} };
      default:
        return undefined;
    }
  }

  protected override errorBody(): unknown {
    return { error: 'RuntimeError', detail: '', body: '', errors: UPSTREAM_SECRET };
  }

  protected override refusalBody(): unknown {
    return { error: 'NSFW', detail: 'nsfw content', body: '', errors: UPSTREAM_SECRET };
  }
}
