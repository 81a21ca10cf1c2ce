import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../lib/clock.ts';
import { OpenIdProvider } from './openid-provider.ts';
import { SignInFailure } from './sign-in-failure.ts';

type Answers = Readonly<Record<string, (response: ServerResponse) => void>>;

/** Begins and finishes a sign-in with a provider that answers like this. Returns what the failure says. */
async function failureWords(answers: (issuer: string) => Answers, query: string): Promise<readonly string[]> {
  const server = createServer((request, response) => {
    const answer = answers(issuer)[request.url ?? ''];
    return answer ? answer(response) : response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = {
    ...{ issuer, clientId: 'tollgate', clientSecret: 'the client secret', name: 'x', scopes: 'openid' },
    ...{ operators: null, trustEmail: false },
  };
  const provider = new OpenIdProvider(settings, 'http://localhost/callback', systemClock);
  try {
    const { checks } = await provider.begin(false);
    await provider.finish(`${query}&state=${checks.state}`, checks);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SignInFailure);
    return [...(error as SignInFailure).words, (error as SignInFailure).reason];
  } finally {
    await provider.close();
    server.close();
  }
}

const json = (status: number, body: object) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const discovery = (issuer: string) => ({
  '/.well-known/openid-configuration': json(200, {
    ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
  }),
});

test.each<[string, (issuer: string) => Answers, string, readonly string[]]>([
  [
    'the client secret is wrong',
    (issuer) => ({
      ...discovery(issuer),
      '/token': json(401, { error: 'invalid_client', error_description: 'wrong secret\nof the client' }),
    }),
    '?code=1',
    ['invalid_client', 'wrong secret of the client', 'status 401', 'refused'],
  ],
  [
    'the person may not sign in',
    discovery,
    '?error=access_denied&error_description=not+in+the+group',
    ['access_denied', 'not in the group', 'denied'],
  ],
  [
    'the provider cannot answer now',
    discovery,
    '?error=temporarily_unavailable',
    ['temporarily_unavailable', 'provider_away'],
  ],
  ['there is no discovery document', () => ({}), '', ['status 404']],
  [
    'the token endpoint cannot be reached',
    (issuer) => ({
      '/.well-known/openid-configuration': json(200, {
        ...{
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: issuer.replace('http:', 'https:'),
        },
      }),
    }),
    '?code=1',
    ['fetch failed', expect.stringContaining('SSL') as string],
  ],
])(
  'a failure says why, in the words of the provider or the network, when %s',
  async (_, answers, query, expected) => {
    const words = await failureWords(answers, query);
    expect(words).toEqual(expect.arrayContaining([...expected]));
    expect(words.join()).not.toContain('the client secret');
  },
);
