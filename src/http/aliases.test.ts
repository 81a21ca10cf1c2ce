import { Aliases, aliasMistake, BUILTIN_ALIASES, baseUrlAdvice, withOverrides } from './aliases.ts';

const builtin = new Aliases(BUILTIN_ALIASES);

test.each([
  ['/v1/chat/completions', '/api/v1/chat/completions'],
  ['/v1/messages', '/vendorx/v1/messages'],
  ['/v1/messages/count_tokens', '/vendorx/v1/messages/count_tokens'],
  ['/v1/models', '/vendorx/v1/models'],
  ['/v1/models/acme/small', '/vendorx/v1/models/acme/small'],
  ['/v1/modelsx', '/api/v1/modelsx'],
  ['/api/v1/messages', '/vendorx/v1/messages'],
  ['/v3/openai/chat/completions', '/api/v1/chat/completions'],
  ['/v3/async/image-turbo', '/v3/async/image-turbo'],
  ['/v1', '/v1'],
])('%s resolves to %s', (alias, path) => {
  expect(builtin.resolve(alias)).toBe(path);
});

test.each([
  ['/chat/completions', false, /followed by \/api\/v1$/],
  ['/api/chat/completions', false, /followed by \/api\/v1$/],
  ['/v1/chat/completions/chat/completions', false, /followed by \/api\/v1$/],
  ['/models/acme/small', false, /followed by \/api\/v1$/],
  ['/v1/v1/messages', true, /alone, without a path$/],
  ['/api/v1/v1/messages/count_tokens', true, /alone, without a path$/],
  ['/v1/v1/models', true, /alone, without a path$/],
  ['/messages', true, /followed by \/v1$/],
  ['/favicon.ico', false, /^$/],
  ['/v1/moderations', false, /^$/],
])('base URL advice for a call to %s', (path, isAnthropic, advice) => {
  expect(baseUrlAdvice(path, isAnthropic)).toMatch(advice);
});

test('overrides disable, change and add aliases', () => {
  const paths = { '/v1/*': null, '/v1/messages': '/other', '/openai/*': '/api/v1/*' };
  const aliases = new Aliases(withOverrides({ paths, headers: { 'anthropic-version': null } }));
  expect(aliases.resolve('/v1/credits')).toBe('/v1/credits');
  expect(aliases.resolve('/v1/messages')).toBe('/other');
  expect(aliases.resolve('/openai/credits')).toBe('/api/v1/credits');
  expect(aliases.headers).toEqual([]);
});

test.each([
  [{ '/a/*': '/api/v1/keys' }, 'both paths must end in /*, or neither'],
  [{ '/api/v1/keys': '/api/v1/credits' }, 'a route already uses this path'],
  [{ '/a': '/nothing' }, 'there is no route /nothing'],
  [{ '/a/*': '/nothing/*' }, 'there is no route /nothing/*'],
])('%j is reported as a mistake', (paths, mistake) => {
  const [alias] = Object.keys(paths);
  const names = { paths: paths as unknown as Record<string, string>, headers: {} };
  expect(aliasMistake(['/api/v1/keys', '/api/v1/credits'], names)).toBe(
    `aliases.paths: ${alias}: ${mistake}`,
  );
});
