import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OidcSettings } from '../config/oidc-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { type Identity, OpenIdProvider } from './openid-provider.ts';
import { SignInFailure } from './sign-in-failure.ts';

/** What a provider that is written out here says of the person who signs in. */
interface Told {
  readonly token: Readonly<Record<string, unknown>>;
  /** Claims of the userinfo endpoint; without them there is no such endpoint. */
  readonly userinfo?: Readonly<Record<string, unknown>>;
}

const EMAIL = 'ada@example.com';
let server: Server;
let origin: string;
let privateKey: KeyObject;
let publicKey: KeyObject;
let told: Told;
/** How the provider names itself below its origin. */
let issuerPath: string;
let nonce: string;
/** Id of the provider's key; undefined when it has none. */
let keyId: string | undefined;
let userinfoStatus: number;
let asked: string[];

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const answer = answers()[path];
    const status = path === '/userinfo' ? userinfoStatus : 200;
    response.writeHead(answer ? status : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server?.close();
});
beforeEach(() => {
  ({ privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 }));
  told = { token: { email: EMAIL, email_verified: true } };
  issuerPath = '/app';
  keyId = undefined;
  userinfoStatus = 200;
  asked = [];
});

function answers(): Record<string, object> {
  const issuer = origin + issuerPath;
  const published = { alg: 'RS256', use: 'sig', ...(keyId !== undefined && { kid: keyId }) };
  return {
    '/app/.well-known/openid-configuration': {
      ...{ issuer, authorization_endpoint: `${origin}/auth`, token_endpoint: `${origin}/token` },
      ...{ jwks_uri: `${origin}/keys`, ...(told.userinfo && { userinfo_endpoint: `${origin}/userinfo` }) },
    },
    '/token': { access_token: 'a', token_type: 'Bearer', id_token: idToken(issuer) },
    '/keys': { keys: [{ ...publicKey.export({ format: 'jwk' }), ...published }] },
    '/userinfo': { sub: 'ada', ...told.userinfo },
  };
}

function idToken(iss: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss, aud: 'tollgate', sub: 'ada', iat: now, exp: now + 60, nonce, ...told.token };
  const parts = [{ alg: 'RS256', kid: keyId }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createSign('sha256').update(parts.join('.')).sign(privateKey, 'base64url');
  return [...parts, signature].join('.');
}

function open(
  issuer = `${origin}/app`,
  trustEmail = false,
  operators: OidcSettings['operators'] = null,
): OpenIdProvider {
  const settings = {
    ...{ issuer, clientId: 'tollgate', clientSecret: 'secret', name: 'x', scopes: 'openid email' },
    ...{ operators, trustEmail },
  };
  return new OpenIdProvider(settings, 'http://localhost/callback', systemClock);
}

async function signIn(provider: OpenIdProvider): Promise<Identity> {
  const { checks } = await provider.begin(false);
  nonce = checks.nonce;
  return provider.finish(`?code=1&state=${checks.state}`, checks);
}

test.each<[string, string, Told]>([
  ['the token says so', EMAIL, { token: { email: EMAIL, email_verified: true } }],
  ['the token says so in a text', EMAIL, { token: { email: EMAIL, email_verified: 'true' } }],
  ['the token denies it in a text', '', { token: { email: EMAIL, email_verified: 'false' } }],
  ['the token has a list', '', { token: { email: EMAIL, email_verified: ['true'] } }],
  ['nobody says so', '', { token: { email: EMAIL }, userinfo: { email: EMAIL } }],
  [
    'only the userinfo endpoint says so',
    EMAIL,
    { token: { email: EMAIL }, userinfo: { email: 'Ada@example.com', email_verified: true } },
  ],
  [
    'the userinfo endpoint has the address, too',
    EMAIL,
    { token: {}, userinfo: { email: 'Ada@Example.com', email_verified: 'true' } },
  ],
  [
    'the userinfo endpoint says so of another address',
    '',
    { token: { email: EMAIL }, userinfo: { email: 'eve@example.com', email_verified: true } },
  ],
  [
    'the token denies what the userinfo endpoint says',
    '',
    { token: { email: EMAIL, email_verified: false }, userinfo: { email: EMAIL, email_verified: true } },
  ],
])('whether an address is verified, when %s', async (_, email, what) => {
  told = what;
  const provider = open();
  expect((await signIn(provider)).email).toBe(email);
  await provider.close();
});

test('an address that is trusted anyway takes no further request', async () => {
  told = { token: { email: EMAIL }, userinfo: {} };
  const provider = open(undefined, true);
  expect((await signIn(provider)).email).toBe(EMAIL);
  expect(asked).not.toContain('/userinfo');
  await provider.close();
});

test.each([
  ['without', '', '/app/'],
  ['with', '/', '/app'],
])('OIDC_ISSUER %s the slash at the end that the provider writes otherwise', async (_, slash, path) => {
  issuerPath = path;
  const provider = open(`${origin}/app${slash}`);
  expect((await signIn(provider)).issuer).toBe(origin + path);
  await provider.close();
});

test('a document of another issuer is refused, and the log says which', async () => {
  issuerPath = '/other';
  const provider = open();
  const failure = await signIn(provider).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SignInFailure);
  expect((failure as SignInFailure).words.join()).toContain(
    `OIDC_ISSUER is not the issuer of the document there, which is ${origin}/other`,
  );
  await provider.close();
});

test.each([
  ['the same id', undefined, undefined],
  ['another id', 'one', 'two'],
])(
  'the first sign-in after the provider changed its keys works, with keys of %s',
  async (_, before, after) => {
    keyId = before;
    const provider = open();
    await signIn(provider);
    keyId = after;
    ({ privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 }));
    expect((await signIn(provider)).email).toBe(EMAIL);
    await provider.close();
  },
);

test('a signature by a key that the provider does not publish signs nobody in', async () => {
  const provider = open();
  await signIn(provider);
  ({ privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 }));
  await expect(signIn(provider)).rejects.toMatchObject({ reason: 'refused' });
  await provider.close();
});

test.each([
  [503, {}, 'provider_away'],
  [401, { error: 'invalid_token' }, 'provider_away'],
  [200, { sub: 'eve', email: EMAIL, email_verified: true }, 'refused'],
])('userinfo of status %i with %j leaves what the ID token says', async (status, body, reason) => {
  told = { token: { email: EMAIL, name: 'Ada' }, userinfo: body };
  userinfoStatus = status;
  const provider = open();
  const identity = await signIn(provider);
  expect(identity).toMatchObject({ subject: 'ada', email: '', name: 'Ada', isOperator: false });
  expect(identity.untold).toMatchObject({ reason });
  await provider.close();
});

test.each<[unknown, boolean, readonly string[] | undefined]>([
  ['ops', true, ['ops']],
  [['staff', 'ops'], true, ['staff', 'ops']],
  ['/ops', false, ['/ops']],
  [['/ops', { ops: 1 }, 7], false, ['/ops', '(object)', '(number)']],
  [{ ops: 1 }, false, ['(object)']],
  [Array(30).fill('x\u0000'), false, Array(20).fill('x')],
  [undefined, false, undefined],
])('the operator claim %j', async (groups, isOperator, operatorValues) => {
  told = { token: { groups } };
  const provider = open(undefined, false, { claim: 'groups', value: 'ops' });
  expect(await signIn(provider)).toMatchObject({ isOperator, operatorValues });
  await provider.close();
});
