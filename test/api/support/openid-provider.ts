import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { jest } from '@jest/globals';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { choosePort } from '../../../ops/embedded/free-port.ts';

export interface Person {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
}

/** A real OpenID provider. It signs every visitor in as `person` without asking. */
export interface TestOpenIdProvider {
  readonly issuer: string;
  /** Subject of the person who signs in next. */
  person: string;
  readonly people: Record<string, Person>;
  /** Seconds ago that the person proved who they are. */
  provenAgo: number;
  /** Whether it answers every request with 503. */
  isAway: boolean;
  /** Whether its userinfo endpoint answers every request with 503. */
  isSilent: boolean;
  /** Settings of an installation that trusts it. */
  readonly settings: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const CLIENT = { client_id: 'tollgate', client_secret: 'a secret between the two, 32 characters' };

/** Starts the provider. `publicUrl` is the address of the installation that people are sent back to. */
export async function startOpenIdProvider(publicUrl: string): Promise<TestOpenIdProvider> {
  const port = await choosePort();
  const issuer = `http://127.0.0.1:${port}`;
  const people: Record<string, Person> = {};
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider: Provider = await quietProvider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${publicUrl}/console/oidc/callback`],
        id_token_signed_response_alg: 'ES256',
        require_auth_time: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
    cookies: { keys: ['of the test provider'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    pkce: { required: () => true },
    ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, subject) => ({
      accountId: subject,
      claims: async () => ({ sub: subject, ...people[subject] }),
    }),
    loadExistingGrant: (context) => consent(provider, context),
  });
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (found.isAway || (found.isSilent && request.url === '/me')) {
      response.writeHead(503).end();
    } else if (request.url?.startsWith('/interaction/')) {
      void provider.interactionFinished(request, response, {
        login: { accountId: found.person, ts: Math.floor(Date.now() / 1_000) - found.provenAgo },
      });
    } else {
      void answer(request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const found: TestOpenIdProvider = {
    ...{ issuer, people, person: '', provenAgo: 0, isAway: false, isSilent: false },
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.client_id,
      OIDC_CLIENT_SECRET: CLIENT.client_secret,
      OIDC_NAME: 'Acme SSO',
      OIDC_OPERATOR_CLAIM: 'groups',
      OIDC_OPERATOR_VALUE: 'tollgate-operators',
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return found;
}

/**
 * Creates the provider without its warnings that it keeps everything in memory and wants another Node version. Both are fine in a test.
 */
async function quietProvider(issuer: string, configuration: Configuration): Promise<Provider> {
  const warning = jest.spyOn(console, 'warn').mockReturnValue();
  try {
    const { Provider: OpenIdServer } = await import('oidc-provider');
    return new OpenIdServer(issuer, configuration);
  } finally {
    warning.mockRestore();
  }
}

/** Skips the question whether Tollgate may know a person's address. */
async function consent(provider: Provider, { oidc }: KoaContextWithOIDC) {
  const [clientId, accountId] = [oidc.client?.clientId, oidc.session?.accountId];
  if (clientId === undefined || accountId === undefined) {
    return undefined;
  }
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope('openid email profile');
  await grant.save();
  return grant;
}
