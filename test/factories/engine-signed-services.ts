import { createPublicKey, type KeyObject } from 'node:crypto';
import { type JWTVerifyOptions, jwtVerify } from 'jose';
import { awsSignatureMistake } from './aws-signature.ts';
import { PolledService } from './engine-polled-services.ts';
import { type EngineReply, type SeenRequest, type ServerRun, UPSTREAM_SECRET } from './engine-server.ts';
import { SynchronousService } from './engine-synchronous-services.ts';
import { EXAMPLE_PRIVATE_KEY, EXAMPLE_SECRET } from './example-variables.ts';

/** Services that reject calls without the signature they require. The files of runs are public. */

const FILES = /^\/files\//;

/** Rejects a call whose token is invalid according to jose, a library that the product does not use. */
async function refusedToken(
  { path, headers }: SeenRequest,
  key: KeyObject | Uint8Array,
  options: JWTVerifyOptions,
): Promise<EngineReply | undefined> {
  if (FILES.test(path)) {
    return undefined;
  }
  try {
    const [, token = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    await jwtVerify(token, key, { ...options, requiredClaims: ['exp', 'iss'] });
    return undefined;
  } catch (error) {
    return { status: 401, json: { error: { code: 401, message: (error as Error).message } } };
  }
}

/** https://app.klingai.com/global/dev: tokens signed by the caller, everything inside `data`. */
export class KlingServer extends PolledService {
  protected override async refuse(seen: SeenRequest): Promise<EngineReply | undefined> {
    const key = new TextEncoder().encode(EXAMPLE_SECRET);
    return await refusedToken(seen, key, { algorithms: ['HS256'], issuer: EXAMPLE_SECRET });
  }

  protected override isOrder({ method, path }: SeenRequest): boolean {
    return method === 'POST' && path === '/v1/videos/text2video';
  }

  protected override asked({ path }: SeenRequest): string | undefined {
    return /^\/v1\/videos\/text2video\/([^/]+)$/.exec(path)?.[1];
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { code: 0, message: 'SUCCEED', data: { task_id: id, task_status: 'submitted' } };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const task_status = { waits: 'submitted', runs: 'processing', done: 'succeed', failed: 'failed' }[state];
    const videos = state === 'done' ? [{ id: 'v', url: this.file ?? '', duration: '5' }] : [];
    const task_status_msg = state === 'failed' ? UPSTREAM_SECRET : '';
    return { code: 0, data: { task_id: id, task_status, task_status_msg, task_result: { videos } } };
  }
}

/** https://cloud.google.com/vertex-ai: tokens of a service account, polls by POST, the file in the answer. */
export class VertexServer extends PolledService {
  protected override async refuse(seen: SeenRequest): Promise<EngineReply | undefined> {
    return await refusedToken(seen, createPublicKey(EXAMPLE_PRIVATE_KEY), {
      algorithms: ['RS256'],
      issuer: EXAMPLE_SECRET,
      subject: EXAMPLE_SECRET,
      audience: 'https://aiplatform.googleapis.com/',
      maxTokenAge: '1h',
    });
  }

  protected override isOrder({ method, path }: SeenRequest): boolean {
    return method === 'POST' && path.endsWith(':predictLongRunning');
  }

  protected override asked({ method, path, json }: SeenRequest): string | undefined {
    const isQuestion = method === 'POST' && path.endsWith(':fetchPredictOperation');
    return isQuestion ? String(json?.operationName).split('/').at(-1) : undefined;
  }

  protected override accepted201({ id }: ServerRun): unknown {
    return { name: this.#nameOf(id) };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const name = this.#nameOf(id);
    if (state === 'failed') {
      return { name, done: true, error: { code: 13, message: UPSTREAM_SECRET } };
    }
    if (state !== 'done') {
      return { name };
    }
    const file = { bytesBase64Encoded: this.meets('no_output') ? '' : this.base64(), mimeType: 'video/mp4' };
    return { name, done: true, response: { raiMediaFilteredCount: 0, videos: [file] } };
  }

  protected override cutsAnswer(): boolean {
    return this.meets('output_cut');
  }

  protected override errorBody(): unknown {
    return { error: { code: 400, message: UPSTREAM_SECRET, status: 'INVALID_ARGUMENT' } };
  }

  protected override refusalBody(): unknown {
    return { error: { code: 400, message: `blocked: ${UPSTREAM_SECRET}`, status: 'INVALID_ARGUMENT' } };
  }

  #nameOf(id: string): string {
    return `projects/my-project/locations/us-central1/publishers/google/models/veo/operations/${id}`;
  }
}

/** https://developer.adobe.com/firefly-services: tokens of an OAuth server, which this class also contains. */
export class FireflyServer extends PolledService {
  /** Tokens that the API accepts. */
  readonly tokens = new Set<string>();
  /** Number of token requests. */
  tokenRequests = 0;
  /** Lifetime of a token in seconds, as reported; undefined to report none. */
  expiresIn: number | undefined = 86_399;
  /** Answer to token requests in place of a token. */
  tokenReply: EngineReply | undefined;

  protected override async refuse(seen: SeenRequest): Promise<EngineReply | undefined> {
    const { path, headers } = seen;
    if (path === '/ims/token/v3') {
      return this.#giveToken(seen);
    }
    const [, token = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    if (FILES.test(path) || (this.tokens.has(token) && headers['x-api-key'] === EXAMPLE_SECRET)) {
      return undefined;
    }
    return { status: 401, json: { error_code: '401013', message: 'Oauth token is not valid' } };
  }

  protected override route(seen: SeenRequest): EngineReply | undefined {
    const [, id] = /^\/v3\/cancel\/([^/]+)$/.exec(seen.path) ?? [];
    const run = id === undefined ? undefined : this.runs.get(decodeURIComponent(id));
    if (run && seen.method === 'PUT') {
      run.canceled = true;
      return { status: 202, json: {} };
    }
    return super.route(seen);
  }

  protected override isOrder({ method, path }: SeenRequest): boolean {
    return method === 'POST' && path === '/v3/images/generate-async';
  }

  protected override asked({ path }: SeenRequest): string | undefined {
    return /^\/v3\/status\/([^/]+)$/.exec(path)?.[1];
  }

  protected override accepted201({ id }: ServerRun): unknown {
    const statusUrl = `${this.url}/v3/status/${id}`;
    return { jobId: id, statusUrl, cancelUrl: `${this.url}/v3/cancel/${id}` };
  }

  protected override standing({ id }: ServerRun, state: string): unknown {
    const status = { waits: 'pending', runs: 'running', done: 'succeeded', failed: 'failed' }[state];
    const image = { url: this.file };
    const result = state === 'done' ? { size: {}, outputs: [{ seed: 1, image }] } : undefined;
    return { jobId: id, status, result, ...(state === 'failed' ? { message: UPSTREAM_SECRET } : {}) };
  }

  protected override errorBody(): unknown {
    return { error_code: 'internal', message: UPSTREAM_SECRET };
  }

  protected override refusalBody(): unknown {
    return { error_code: 'prompt_unsafe', message: UPSTREAM_SECRET };
  }

  #giveToken({ method, headers, text }: SeenRequest): EngineReply {
    this.tokenRequests += 1;
    if (this.tokenReply) {
      return this.tokenReply;
    }
    const form = new URLSearchParams(text);
    const isForm = headers['content-type'] === 'application/x-www-form-urlencoded';
    if (method !== 'POST' || !isForm || form.get('grant_type') !== 'client_credentials') {
      return { status: 400, json: { error: 'unsupported_grant_type' } };
    }
    if (!this.#knows(headers.authorization, form)) {
      return { status: 401, json: { error: 'invalid_client' } };
    }
    const token = `token-${this.tokenRequests}`;
    this.tokens.add(token);
    const expiry = this.expiresIn === undefined ? {} : { expires_in: this.expiresIn };
    return { json: { access_token: token, token_type: 'bearer', ...expiry } };
  }

  /** Checks the credentials of the form or of Basic authentication. */
  #knows(authorization: string | undefined, form: URLSearchParams): boolean {
    const basic = Buffer.from(authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    const said = authorization
      ? basic.split(':').map(decodeURIComponent)
      : [form.get('client_id'), form.get('client_secret')];
    return said.length === 2 && said.every((word) => word === EXAMPLE_SECRET);
  }
}

/** https://docs.aws.amazon.com/bedrock: signed calls, the image in the answer. */
export class BedrockServer extends SynchronousService {
  protected override async refuse(seen: SeenRequest): Promise<EngineReply | undefined> {
    const key = { accessKeyId: EXAMPLE_SECRET, secretAccessKey: EXAMPLE_SECRET };
    const mistake = awsSignatureMistake(seen, { ...key, region: 'us-east-1', service: 'bedrock' });
    return mistake === undefined ? undefined : { status: 403, json: { message: mistake } };
  }

  protected override route(seen: SeenRequest): EngineReply | undefined {
    if (seen.method !== 'POST' || !/^\/model\/[^/]+\/invoke$/.test(seen.path)) {
      return undefined;
    }
    return this.answer(seen, (image) => ({ images: image === '' ? [] : [image] }));
  }

  protected override errorBody(): unknown {
    return { message: UPSTREAM_SECRET };
  }

  protected override refusalBody(): unknown {
    return { message: `This request has been blocked by our content filters. ${UPSTREAM_SECRET}` };
  }
}
