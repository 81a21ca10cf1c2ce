import { OpenRouter } from '@openrouter/sdk';
import { ResponseValidationError } from '@openrouter/sdk/models/errors';
import { publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let owner: TestKey;
let spare: TestKey;
let generation: string;
let sdk: OpenRouter;

beforeAll(async () => {
  server = await startTestServer();
  const { id } = await createAccount(server.database);
  owner = await createKey(server.database, id);
  spare = await createKey(server.database, id);
  generation = publicId(
    'generation',
    await createGeneration(server.database, { accountId: id, apiKeyId: owner.id, charge: '0.10' }),
  );
  sdk = new OpenRouter({
    apiKey: owner.secret,
    serverURL: `${server.url}/api/v1`,
    retryConfig: { strategy: 'none' },
  });
});
afterAll(() => server?.close());

/**
 * Operations with fields that OpenRouter has and this interface lacks: daily sums, bring-your-own-key, a different `usage`; and amounts,
 * which are exact here, as text.
 */
const UNLIKE = new Set([
  'credits',
  'keys.list',
  'keys.get',
  'keys.create',
  'keys.update',
  'keys.current',
  'generation',
]);

type Call = [string, () => Promise<unknown>, (body: string) => void];

test('understands every request of the SDK, and the SDK parses every answer whose form is the same', async () => {
  const calls: Call[] = [
    ['credits', () => sdk.credits.getCredits(), (body) => expect(body).toContain('"total_credits":"')],
    ['keys.list', () => sdk.apiKeys.list(), (body) => expect(body).toContain(owner.hash)],
    [
      'keys.create',
      () => sdk.apiKeys.create({ requestBody: { name: 'sdk', limit: 1.5 } }),
      (body) => expect(JSON.parse(body)).toMatchObject({ data: { name: 'sdk', limit: 1.5 } }),
    ],
    [
      'keys.get',
      () => sdk.apiKeys.get({ hash: spare.hash }),
      (body) => expect(JSON.parse(body).data.hash).toBe(spare.hash),
    ],
    [
      'keys.update',
      () => sdk.apiKeys.update({ hash: spare.hash, requestBody: { disabled: true } }),
      (body) => expect(JSON.parse(body).data.disabled).toBe(true),
    ],
    [
      'keys.current',
      () => sdk.apiKeys.getCurrentKeyMetadata(),
      (body) => expect(JSON.parse(body).data.hash).toBe(owner.hash),
    ],
    ['models.list', () => sdk.models.list(), (body) => expect(body).toContain('acme/small')],
    [
      'generation',
      () => sdk.generations.getGeneration({ id: generation }),
      (body) => expect(body).toContain('0.10'),
    ],
  ];
  for (const [name, run, check] of calls) {
    const outcome = await run().then(
      () => 'agrees',
      (error: unknown) => {
        if (error instanceof ResponseValidationError) {
          expect([name, error.statusCode < 300]).toEqual([name, true]);
          check(error.body);
          return 'unlike';
        }
        throw error;
      },
    );
    expect([name, outcome]).toEqual([name, UNLIKE.has(name) ? 'unlike' : 'agrees']);
  }
});

test('errors reach the SDK with their status', async () => {
  const stranger = new OpenRouter({
    apiKey: 'sk-nothing',
    serverURL: `${server.url}/api/v1`,
    retryConfig: { strategy: 'none' },
  });
  await expect(stranger.credits.getCredits()).rejects.toMatchObject({ statusCode: 401 });
  await expect(sdk.apiKeys.get({ hash: '0'.repeat(64) })).rejects.toMatchObject({ statusCode: 404 });
});
