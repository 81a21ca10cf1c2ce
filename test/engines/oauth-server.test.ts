import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import type { Provider } from 'oidc-provider';
import { OAuthTokens } from '../../src/engines/http/oauth-tokens.ts';
import { UpstreamHttp } from '../../src/engines/upstream-http.ts';

/** Tokens of a third-party OAuth server: oidc-provider, which is certified. */

const SECRET = 'hush & 100% +/=:~';
const CLIENTS = [
  { client_id: 'by: basic', token_endpoint_auth_method: 'client_secret_basic' },
  { client_id: 'by: body', token_endpoint_auth_method: 'client_secret_post' },
] as const;

let server: Server;
let url: string;
let provider: Provider;

beforeAll(async () => {
  server = createServer((request, response) => void provider.callback()(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // it warns that it keeps everything in memory
  const warning = jest.spyOn(console, 'warn').mockReturnValue();
  const { Provider: OAuthServer } = await import('oidc-provider');
  provider = new OAuthServer(url, {
    clients: CLIENTS.map((client) => ({
      ...client,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      scope: 'images videos',
    })),
    scopes: ['images', 'videos'],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { ClientCredentials: 600 },
  });
  warning.mockRestore();
});

afterAll(async () => {
  server?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
});

function tokensOf(
  client_id: string,
  client_authentication: 'basic' | 'body',
  client_secret = SECRET,
): OAuthTokens {
  const settings = {
    kind: 'oauth',
    token_url: `${url}/token`,
    client_id,
    client_secret,
    scope: 'images',
  } as const;
  const http = new UpstreamHttp({
    baseUrl: url,
    headers: { accept: 'application/json' },
    ...{ connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000, privateDownloads: false },
  });
  return new OAuthTokens({ ...settings, client_authentication }, http, { now: () => Date.now() });
}

test.each([
  ['by: basic', 'basic'],
  ['by: body', 'body'],
] as const)(
  '%s: gets a token for the requested scope from a server that knows the client',
  async (client, authentication) => {
    const tokens = tokensOf(client, authentication);
    const { authorization } = await tokens.sign(undefined);
    const given = await provider.ClientCredentials.find(authorization.replace('Bearer ', ''));
    expect(given).toMatchObject({ clientId: client, scope: 'images' });
    expect(given?.isValid).toBe(true);
    await tokens.close();
  },
);

test('fails on the wrong secret without quoting it', async () => {
  const tokens = tokensOf('by: basic', 'basic', 'another secret');
  const error: unknown = await tokens.sign(undefined).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ failure: { code: 'upstream_misconfigured' } });
  const { said } = (error as { failure: { said: string } }).failure;
  expect(said).toMatch(/^the token server rejected us: 401 invalid_client/);
  expect(said).not.toContain('another secret');
  await tokens.close();
});
