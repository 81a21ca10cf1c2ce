import { generateKeyPairSync } from 'node:crypto';
import { type Engine, EngineError, type EngineFailure } from '../../src/engines/engine.types.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { OAuthTokens } from '../../src/engines/http/oauth-tokens.ts';
import { UpstreamHttp, type UpstreamHttpSettings } from '../../src/engines/upstream-http.ts';
import { awsSignatureMistake } from '../factories/aws-signature.ts';
import { attempt, engineRequest } from '../factories/engine-attempt.ts';
import type { EngineServer } from '../factories/engine-server.ts';
import {
  BedrockServer,
  FireflyServer,
  KlingServer,
  VertexServer,
} from '../factories/engine-signed-services.ts';
import { EXAMPLE_SECRET } from '../factories/example-variables.ts';
import { serviceEntry } from '../factories/service-entries.ts';

/** Signatures as services check them: by jose, by AWS's description, by a token server. The contract tests run the same servers. */

const VIDEO = { kind: 'video', width: 1280, height: 720, seconds: 5 } as const;
const OTHER_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

const kling = new KlingServer();
const vertex = new VertexServer();
const bedrock = new BedrockServer();
const firefly = new FireflyServer();
const servers: readonly EngineServer[] = [kling, vertex, bedrock, firefly];
const opened: { close(): Promise<void> }[] = [];

beforeAll(() => Promise.all(servers.map((server) => server.start())));
beforeEach(() => {
  for (const server of servers) {
    server.reset();
  }
});
afterAll(() => Promise.all([...opened, ...servers].map((one) => one.close())));

/** Creates the engine of an example with some members of its signature changed. */
function engine(example: string, server: EngineServer, signature: Record<string, unknown> = {}): Engine {
  const entry = serviceEntry(example, server.url);
  const changed = { ...(entry.signature as object), ...signature };
  const created = httpKind.create({
    ...entry,
    id: 'gpu',
    kind: 'http',
    poll_interval_ms: 10,
    signature: changed,
  });
  opened.push(created);
  return created;
}

async function failureOf(run: Promise<unknown>): Promise<EngineFailure> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const { failure } = (error ?? {}) as { failure?: EngineFailure };
  if (!failure) {
    throw new Error('the call did not fail', { cause: error });
  }
  return failure;
}

describe('accepts calls signed with the right key and rejects others', () => {
  test.each([
    ['kling', kling, { secret: 'another' }, VIDEO],
    ['kling', kling, { issuer: 'another' }, VIDEO],
    ['vertex-veo', vertex, { private_key: OTHER_KEY }, VIDEO],
    ['vertex-veo', vertex, { audience: 'https://another.googleapis.com/' }, VIDEO],
    ['vertex-veo', vertex, { subject: undefined }, VIDEO],
    ['bedrock-nova-canvas', bedrock, { secret_access_key: 'another' }, { width: 1024, height: 1024 }],
    ['bedrock-nova-canvas', bedrock, { region: 'eu-west-1' }, { width: 1024, height: 1024 }],
  ] as const)('%s: %#', async (example, server, change, order) => {
    await attempt(engine(example, server), engineRequest(order));
    expect(server.accepted).toBe(1);
    const failure = await failureOf(attempt(engine(example, server, change), engineRequest(order)));
    expect(failure).toMatchObject({ code: 'upstream_misconfigured', retryable: false });
    expect(server.accepted).toBe(1);
  });
});

test('accepts the key of a service account with its lines joined, and names the key in each token', async () => {
  const { private_key: key } = serviceEntry('vertex-veo', '').signature as { private_key: string };
  const inOneLine = {
    private_key: key.replaceAll('\n', '\\n'),
    claims: { scope: 'cloud-platform' },
    seconds: 3_600,
  };
  await attempt(engine('vertex-veo', vertex, inOneLine), engineRequest(VIDEO));
  const asked = vertex.requests.map(
    ({ headers }) => headers.authorization?.replace('Bearer ', '').split('.') ?? [],
  );
  expect(asked.length).toBeGreaterThan(2);
  for (const [head = '', claims = ''] of asked) {
    expect(jsonOf(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: EXAMPLE_SECRET });
    const { iat, exp, scope } = jsonOf(claims);
    expect([scope, exp - iat]).toEqual(['cloud-platform', 3_600]);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the content of a token has no type
function jsonOf(part: string): any {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}

test('covers the query, a model with a colon and a session in an AWS signature', async () => {
  const { signature, ...entry } = serviceEntry('bedrock-nova-canvas', bedrock.url);
  const session = { ...(signature as object), session_token: 'session/+=' };
  const settings = { ...entry, query: { b: 'two words', a: "it's" }, signature: session };
  const service = httpKind.create({ ...settings, id: 'gpu', kind: 'http' });
  opened.push(service);
  await attempt(service, engineRequest({ width: 1024, height: 1024, model: 'amazon.nova-canvas-v1:0' }));
  const [seen] = bedrock.requests;
  expect(seen?.target).toMatch(/^\/model\/amazon\.nova-canvas-v1%3A0\/invoke\?/);
  expect(seen?.query.get('a')).toBe("it's");
  expect(seen?.headers['x-amz-security-token']).toBe('session/+=');
  expect(seen?.headers.authorization).toContain('x-amz-security-token');
});

test('checks AWS signatures in agreement with the example AWS publishes', () => {
  const example = {
    method: 'GET',
    target: '/?Action=ListUsers&Version=2010-05-08',
    text: '',
    headers: {
      host: 'iam.amazonaws.com',
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'x-amz-date': '20150830T123600Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, ' +
        'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    },
  };
  const key = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
    service: 'iam',
  };
  const then = Date.parse('2015-08-30T12:36:00Z');
  expect(awsSignatureMistake(example, key, then)).toBeUndefined();
  expect(awsSignatureMistake({ ...example, text: 'x' }, key, then)).toMatch(/does not match/);
});

describe('tokens of an OAuth client', () => {
  let now = 0;
  let http: UpstreamHttp;

  beforeEach(() => {
    now = 1_700_000_000_000;
    firefly.tokens.clear();
    firefly.tokenRequests = 0;
    firefly.expiresIn = 86_399;
    firefly.tokenReply = undefined;
    http = client();
  });

  function client(
    changes: Record<string, unknown> = {},
    tokenUrl = `${firefly.url}/ims/token/v3`,
  ): UpstreamHttp {
    const clocks = {
      connectMs: 500,
      firstByteMs: 2_000,
      idleMs: 2_000,
      totalMs: 5_000,
      privateDownloads: false,
    };
    const settings: UpstreamHttpSettings = {
      ...clocks,
      baseUrl: firefly.url,
      headers: { 'x-api-key': EXAMPLE_SECRET },
    };
    const oauth = {
      kind: 'oauth',
      token_url: tokenUrl,
      client_id: EXAMPLE_SECRET,
      client_secret: EXAMPLE_SECRET,
      client_authentication: 'basic',
      ...changes,
    } as const;
    const tokenServer = new UpstreamHttp({ ...clocks, baseUrl: new URL(tokenUrl).origin, headers: {} });
    const made = new UpstreamHttp({
      ...settings,
      signer: new OAuthTokens(oauth, tokenServer, { now: () => now }),
    });
    opened.push(made);
    return made;
  }

  const order = () =>
    http.submit({ method: 'POST', path: '/v3/images/generate-async', json: { prompt: 'x' } }, undefined);

  test('makes one token request for all who wait', async () => {
    const service = engine('firefly', firefly);
    await Promise.all(Array.from({ length: 20 }, () => attempt(service, engineRequest())));
    expect([firefly.accepted, firefly.tokenRequests]).toEqual([20, 1]);
  });

  test('keeps a token until shortly before it expires', async () => {
    firefly.expiresIn = 3_600;
    await order();
    now += 3_539_000;
    await order();
    expect(firefly.tokenRequests).toBe(1);
    now += 2_000;
    await order();
    expect(firefly.tokenRequests).toBe(2);
  });

  test('also keeps a token that lives for seconds or has no stated lifetime', async () => {
    firefly.expiresIn = 10;
    await order();
    now += 7_000;
    await order();
    expect(firefly.tokenRequests).toBe(1);
    firefly.expiresIn = undefined;
    now += 2_000;
    await order();
    now += 239_000;
    await order();
    expect(firefly.tokenRequests).toBe(2);
  });

  test('renews a rejected token once and sends the order once', async () => {
    await order();
    firefly.tokens.clear();
    now += 60_000;
    await Promise.all([order(), order(), order()]);
    expect([firefly.accepted, firefly.tokenRequests]).toEqual([4, 2]);
  });

  test('requests one more token from a service that rejects every token, then reports it to the operator', async () => {
    await order();
    now += 60_000;
    firefly.reset('refuses_key');
    const failure = await failureOf(order());
    expect(failure).toMatchObject({ code: 'upstream_misconfigured', retryable: false });
    expect(firefly.tokenRequests).toBe(2);
    expect(await failureOf(order())).toMatchObject({ code: 'upstream_misconfigured' });
    expect(firefly.tokenRequests).toBe(2);
    firefly.reset();
    await order();
  });

  test('reports a rejected client to the operator and shows its secret in no failure', async () => {
    http = client({ client_secret: 'hush: 100%+' });
    const quoted = {
      error: 'invalid_client',
      error_description: 'no such secret: hush: 100%+',
      request: 'hush: 100%+',
    };
    firefly.tokenReply = { status: 400, json: quoted };
    const failure = await failureOf(order());
    expect(failure).toMatchObject({ code: 'upstream_misconfigured', retryable: false });
    expect(failure.said).toBe('the token server rejected us: 400 invalid_client no such secret: [secret]');
    firefly.tokenReply = undefined;
    expect((await failureOf(order())).said).toBe('the token server rejected us: 401 invalid_client');
    expect(firefly.accepted).toBe(0);
  });

  test('counts the engine as away, even for billed runs, while nobody issues tokens', async () => {
    firefly.tokenReply = { status: 503, json: {} };
    const lost = { code: 'submit_unconfirmed', message: '', retryable: false };
    const call = { method: 'POST', path: '/v3/images/generate-async', json: {} } as const;
    expect(await failureOf(http.submit(call, lost))).toMatchObject({
      code: 'upstream_unreachable',
      retryable: true,
      said: 'the token server: 503',
    });
    expect(await http.isAnswering('/', AbortSignal.timeout(1_000))).toBe(false);
    http = client({}, 'http://127.0.0.1:1/token');
    expect(await failureOf(http.submit(call, lost))).toMatchObject({
      code: 'upstream_unreachable',
      retryable: true,
    });
    firefly.tokenReply = undefined;
    http = client();
    await order();
    expect(firefly.accepted).toBe(1);
  });

  test('stops waiting for a token on abort', async () => {
    firefly.tokenReply = { silent: true };
    const abort = new AbortController();
    const reason = new Error('canceled');
    const call = {
      method: 'POST',
      path: '/v3/images/generate-async',
      json: {},
      signal: abort.signal,
    } as const;
    const asked = http.submit(call, undefined);
    setTimeout(() => abort.abort(reason), 50);
    await expect(asked).rejects.toBe(reason);
  });

  test('reports a token server that answers with something else', async () => {
    firefly.tokenReply = { json: { access_token: 'a b', token_type: 'bearer' } };
    expect(await failureOf(order())).toMatchObject({ code: 'upstream_misconfigured' });
    firefly.tokenReply = { json: { access_token: 'a', token_type: 'mac' } };
    const failure = await failureOf(order());
    expect(failure).toMatchObject({ said: 'the token server returned no bearer token' });
    expect(new EngineError(failure).message).not.toContain('mac');
  });
});
