import { PRICE_NAMES } from '../../src/catalog/pricing.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let key: TestKey;

beforeAll(async () => {
  server = await startTestServer();
  key = await createKey(server.database, (await createAccount(server.database)).id, { role: 'inference' });
});
afterAll(() => server?.close());

const ids = async (query: string, secret = key.secret): Promise<string[]> => {
  const answer = await server.call('GET', `/api/v1/models${query}`, { key: secret });
  expect(answer.status).toBe(200);
  return answer.json.data.map((model: { id: string }) => model.id);
};

test('a model has all eight prices as strings and the form that OpenRouter clients read', async () => {
  const { data } = (await server.call('GET', '/api/v1/models/acme/small', { key: key.secret })).json;
  expect(Object.keys(data.pricing)).toEqual([...PRICE_NAMES]);
  expect(data.pricing).toMatchObject({ prompt: '0.000001', completion: '0.000002', web_search: '0' });
  expect(data).toMatchObject({
    id: 'acme/small',
    name: 'Acme Small',
    context_length: 8000,
    architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities: ['text'] },
    top_provider: { context_length: 8000, max_completion_tokens: 1000, is_moderated: false },
    supported_parameters: expect.arrayContaining(['max_tokens', 'top_k']),
  });
});

test('the list and a single model have the fields that OpenAI clients read', async () => {
  const list = (await server.call('GET', '/api/v1/models', { key: key.secret })).json;
  expect(list).toMatchObject({ object: 'list', total_count: 3, links: { next: null } });
  expect(list.data[0]).toMatchObject({ id: 'acme/small', object: 'model', created: 0, owned_by: 'acme' });
  const one = (await server.call('GET', '/api/v1/models/acme/small', { key: key.secret })).json;
  expect(one).toMatchObject({ id: 'acme/small', object: 'model', created: 0, owned_by: 'acme' });
});

describe('/v1/models', () => {
  const anthropic = { 'anthropic-version': '2023-06-01' };
  const get = async (path: string, headers: Record<string, string> = {}) =>
    (await server.call('GET', path, { key: key.secret, headers })).json;

  test("answers Anthropic's clients in their form, one page at a time", async () => {
    const first = await get('/vendorx/v1/models?limit=1&beta=true', anthropic);
    expect(first).toEqual({
      data: [
        {
          type: 'model',
          id: 'acme/small',
          display_name: 'Acme Small',
          created_at: '1970-01-01T00:00:00.000Z',
          max_input_tokens: 8000,
          max_tokens: 1000,
          lifecycle: 'active',
          deprecated_at: null,
          retires_at: null,
          line: null,
          capabilities: null,
        },
      ],
      has_more: false,
      first_id: 'acme/small',
      last_id: 'acme/small',
    });
    expect(await get('/vendorx/v1/models/acme/small', anthropic)).toEqual(first.data[0]);
  });

  test("answers all other clients in OpenAI's form", async () => {
    const page = await get('/vendorx/v1/models?limit=2');
    expect([page.object, page.has_more, page.last_id]).toEqual(['list', true, 'acme/large']);
    const rest = await get('/vendorx/v1/models?after_id=acme%2Flarge');
    expect(rest.data.map(({ id }: { id: string }) => id)).toEqual(['video-fast']);
    const before = await get('/vendorx/v1/models?before_id=video-fast&limit=1');
    expect([before.data[0].id, before.has_more]).toEqual(['acme/large', true]);
    expect(await get('/vendorx/v1/models/acme/small')).toMatchObject({ id: 'acme/small', object: 'model' });
  });

  test.each(['/v1/models', '/v1/models/acme/small', '/v1/credits', '/v3/openai/models/acme%2Fsmall'])(
    '%s is reachable under its other name',
    async (path) => {
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${key.secret}` } });
      expect(response.status).toBe(200);
    },
  );
});

test.each<[string, string[]]>([
  ['', ['acme/small', 'acme/large', 'video-fast']],
  ['?category=science', ['acme/large']],
  ['?category=none', []],
  ['?endpoint=video', ['video-fast']],
  ['?endpoint=chat', ['acme/small', 'acme/large']],
  ['?q=ACME%20S', ['acme/small']],
  ['?q=%25', []],
  ['?endpoint=chat&q=large', ['acme/large']],
])('models%s', async (query, expected) => {
  expect(await ids(query)).toEqual(expected);
});

test.each(['endpoint=audio', 'search=x', 'q='])('returns 400 for %s', async (query) => {
  expect((await server.call('GET', `/api/v1/models?${query}`, { key: key.secret })).status).toBe(400);
});

test.each(['acme/small', 'acme%2Fsmall'])('accepts the id as %s', async (id) => {
  expect((await server.call('GET', `/api/v1/models/${id}`, { key: key.secret })).json.data.id).toBe(
    'acme/small',
  );
});

test.each(['acme', 'acme/small/', 'nothing/here', 'acme%2Fsmall%20'])('returns 404 for %s', async (id) => {
  const answer = await server.call('GET', `/api/v1/models/${id}`, { key: key.secret });
  expect([answer.status, answer.json.error.code]).toEqual([
    404,
    expect.stringMatching(/^(model|route)_not_found$/),
  ]);
});

describe('visibility', () => {
  test('a restricted key sees only its models and no trace of the others', async () => {
    const { id } = await createAccount(server.database);
    const confined = await createKey(server.database, id, { allowedModels: ['acme/large'] });
    expect(await ids('', confined.secret)).toEqual(['acme/large']);
    const hidden = await server.call('GET', '/api/v1/models/acme/small', { key: confined.secret });
    const unknown = await server.call('GET', '/api/v1/models/acme/other', { key: confined.secret });
    expect(hidden.status).toBe(404);
    expect({ ...hidden.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' });
  });

  test('the restrictions of account and key both apply', async () => {
    const { id } = await createAccount(server.database);
    const limited = await createKey(server.database, id, { allowedModels: ['acme/large', 'video-fast'] });
    await server.database.money.query(
      `SELECT change_account($1, '{"allowed_models": ["acme/large", "acme/small"]}')`,
      [id],
    );
    expect(await ids('', limited.secret)).toEqual(['acme/large']);
  });
});
