import { readFileSync } from 'node:fs';
import { CatalogService } from './catalog.service.ts';
import { parseCatalog } from './parse-catalog.ts';
import { formatPrice } from './pricing.ts';

const VALID = `
providers: [{ id: p, protocol: openai, base_url: https://example.test/v1, api_key: "\${KEY}" }]
models:
  - id: acme/small
    endpoints: [chat, messages]
    context_length: 100
    max_output_tokens: 10
    pricing: { prompt: "0.00000015" }
    routes: [{ provider: p, model: small }]
  - { id: picture, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: e, model: m }] }
engines: [{ id: e, kind: builtin, slots: 2 }]
limits: { requests_per_minute: 5 }
aliases: { headers: { Anthropic-Version: vendorx-version } }
`;

const parse = (text: string, variables: Record<string, string> = { KEY: 'k' }) =>
  parseCatalog(text, 'tollgate.yaml', variables);

test('parses a full file', () => {
  const catalog = parse(VALID);
  const model = catalog.models.get('acme/small');
  expect(model).toMatchObject({
    name: 'acme/small',
    contextLength: 100,
    maxOutputTokens: 10,
    engines: [],
  });
  expect(formatPrice(model?.pricing.prompt ?? 0n)).toBe('0.00000015');
  expect(model?.pricing.web_search).toBe(0n);
  expect(catalog.models.get('picture')?.engines).toMatchObject([
    { engine: 'e', model: 'm', runs: { attempts: 5 } },
  ]);
  expect(catalog.engines[0]).toMatchObject({ id: 'e', kind: 'builtin', slots: 2 });
  expect(catalog.limits).toEqual({ requestsPerMinute: 5, tokensPerMinute: 1_000_000, concurrency: 50 });
  expect(catalog.aliases.headers).toEqual([['anthropic-version', 'vendorx-version']]);
  expect(catalog.aliases.resolve('/v1/messages')).toBe('/vendorx/v1/messages');
  expect(catalog.providers[0]).toMatchObject({ api_key: 'k' });
});

test('a value from the environment cannot change the structure of the file', () => {
  const text = VALID.replace(`api_key: "\${KEY}"`, `query: { key: "\${KEY}" }`);
  const catalog = parse(text, { KEY: '"}\nmodels: []' });
  expect(catalog.models.size).toBe(2);
});

test('the same prices have the same version, different prices a different one', () => {
  const version = (text: string) => parse(text).models.get('acme/small')?.priceVersion;
  expect(version(VALID)).toBe(version(VALID.replace('"0.00000015"', '"0.000000150"')));
  expect(version(VALID)).not.toBe(version(VALID.replace('0.00000015', '0.00000016')));
});

test('the shipped file is valid with an empty environment', () => {
  const text = readFileSync(new URL('../../tollgate.yaml', import.meta.url), 'utf8');
  const catalog = parseCatalog(text, 'tollgate.yaml', {});
  expect([...catalog.models.keys()]).toEqual([
    'tollgate/small',
    'tollgate/embed',
    'video-fast',
    'image-turbo',
  ]);
});

describe('a mistake is one line that names file, path and reason', () => {
  test.each([
    [
      'pricing: { prompt: 1 }',
      'models[1].pricing.prompt: must be a quoted decimal of USD, e.g. "0.0000006" (line 4)',
    ],
    [
      'pricing: { prompt: "1" }, routes: [{ provider: b, model: x }], colour: red',
      'models[1].colour: unknown member (line 4)',
    ],
    ['pricing: { prompt: "1" }', 'models[1].routes: is required (line 3)'],
  ])('and the line, for a person with hundreds of models: %s', (member, problem) => {
    const model = '{ id: a, endpoints: [chat], context_length: 9, max_output_tokens: 9';
    const whole = `${model}, pricing: { prompt: "1" }, routes: [{ provider: b, model: x }] }`;
    const text = `providers: [{ id: b, protocol: builtin }]\nmodels: [${whole},\n ${model.replace('a', 'c')},\n ${member} }]`;
    expect(() => parse(text)).toThrow(`tollgate.yaml: ${problem}`);
  });

  test('a variable that is not set', () => {
    const message = 'tollgate.yaml: providers[0].api_key: the environment variable KEY is not set';
    expect(() => parse(VALID, {})).toThrow(message);
  });

  test.each<[string, (text: string) => string, RegExp]>([
    ['broken YAML', () => 'models: [', /^tollgate\.yaml: line \d+: /],
    ['an empty file', () => '', /^tollgate\.yaml: models: /],
    [
      'a price as a number',
      (text) => text.replace('"0.00000015"', '0.00000015'),
      /models\[0\]\.pricing\.prompt: must be a quoted decimal/,
    ],
    [
      'a price with an exponent',
      (text) => text.replace('"0.00000015"', '"1e-7"'),
      /models\[0\]\.pricing\.prompt: must be a plain decimal/,
    ],
    [
      'an unknown price',
      (text) => text.replace('prompt:', 'promt:'),
      /models\[0\]\.pricing\.promt: unknown member/,
    ],
    ['an unknown section', (text) => `${text}\nmodel: 1`, /: model: unknown member/],
    [
      'an unknown provider',
      (text) => text.replace('provider: p', 'provider: q'),
      /models\[0\]\.routes\[0\]\.provider: must name one of providers/,
    ],
    [
      'an unknown engine',
      (text) => text.replace('engine: e', 'engine: q'),
      /models\[1\]\.routes\[0\]\.engine: must name one of engines/,
    ],
    [
      'an engine that is no text',
      (text) => text.replace('engine: e', 'engine: 5'),
      /models\[1\]\.routes\[0\]\.engine: must be a string/,
    ],
    [
      'a key with a line break',
      (text) => text.replace(/"\$\{KEY\}"/, String.raw`"sk-1\n"`),
      /^tollgate\.yaml: providers\[0\]\.api_key: must be ASCII without line breaks/,
    ],
    [
      'a header that HTTP does not allow',
      (text) => text.replace('api_key:', String.raw`headers: { x-team: "a\r\nb" }, api_key:`),
      /^tollgate\.yaml: providers\[0\]\.headers\.x-team: must be Latin-1 without line breaks/,
    ],
    [
      'a duplicate model',
      (text) => text.replace('id: picture', 'id: acme/small'),
      /models\[1\]\.id: "acme\/small" is used twice/,
    ],
    [
      'a text model without its length',
      (text) => text.replace('context_length: 100', ''),
      /models\[0\]\.context_length: is required/,
    ],
    [
      'more output than context',
      (text) => text.replace('max_output_tokens: 10', 'max_output_tokens: 101'),
      /models\[0\]\.max_output_tokens: must not be larger/,
    ],
    [
      'chat and image in one model',
      (text) => text.replace('[chat, messages]', '[chat, image]'),
      /models\[0\]\.endpoints: /,
    ],
    [
      'a condition on the first route',
      (text) => text.replace('{ engine: e, model: m }', '{ engine: e, when: unavailable }'),
      /models\[1\]\.routes\[0\]\.when: orders always start on the first route/,
    ],
    [
      'a video with an odd side, which no player shows',
      (text) => text.replace('[image], pricing', '[video], media: { sizes: [853*480] }, pricing'),
      /models\[1\]\.media\.sizes: 853\*480 must have even sides/,
    ],
    [
      'an engine that is used twice',
      (text) => text.replace('{ engine: e, model: m }', '{ engine: e }, { engine: e, when: waiting > 60s }'),
      /models\[1\]\.routes\[1\]\.engine: "e" is used twice/,
    ],
    [
      'a route to neither provider nor engine',
      (text) => text.replace('provider: p, ', ''),
      /models\[0\]\.routes\[0\]/,
    ],
    [
      'a limit of zero',
      (text) => text.replace('requests_per_minute: 5', 'requests_per_minute: 0'),
      /limits\.requests_per_minute: /,
    ],
    [
      'an unknown protocol',
      (text) => text.replace('protocol: openai', 'protocol: smtp'),
      /providers\[0\]\.protocol: /,
    ],
    [
      'an alias bomb',
      () =>
        `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nmodels: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]`,
      /^tollgate\.yaml: /,
    ],
    [
      'an alias without an anchor',
      (text) => text.replace('protocol: openai', 'protocol: *openai'),
      /^tollgate\.yaml: the YAML alias \*openai has no anchor &openai above it; a text that begins with \* must be in quotes$/,
    ],
    [
      'two documents',
      (text) => `${text}\n---\nmodels: []\n`,
      /^tollgate\.yaml: line \d+: a second YAML document begins here \(---\): keep the whole catalog in one$/,
    ],
    ['a tab', (text) => `${text}\n\tx: 1`, /^tollgate\.yaml: line \d+: (?!.* at line)/],
    [
      'a variable without braces',
      (text) => text.replace(/"\$\{KEY\}"|\$\{KEY\}/, '$KEY'),
      /^tollgate\.yaml: providers\[0\]\.api_key: to use the environment variable, write "\$\{KEY\}" with braces \(line 2\)$/,
    ],
    [
      'an alias of a list within it',
      () => 'models: &models [*models]',
      /^tollgate\.yaml: models\[0\]: a YAML alias \(\*name\) must not name what it is part of \(line 1\)$/,
    ],
    [
      'an alias of an object within it',
      () => 'models: [{ id: &id { of: { x: *id } } }]',
      /^tollgate\.yaml: models\[0\]\.id\.of\.x: a YAML alias/,
    ],
  ])('%s', (_, change, message) => {
    let thrown: Error | undefined;
    try {
      parse(change(VALID));
    } catch (error) {
      thrown = error as Error;
    }
    expect(thrown?.message).toMatch(message);
    expect(thrown?.message).not.toContain('\n');
  });
});

test('the `extra` of a route applies to its model, not to another model on the same engine', () => {
  const text = `
models:
  - { id: a/plain, endpoints: [image], pricing: { request: "1" }, routes: [{ engine: gpu }] }
  - { id: a/fine, endpoints: [image], pricing: { request: "1" }, routes: [{ engine: gpu, extra: { quality: high } }] }
engines: [{ id: gpu, kind: builtin }]`;
  const catalog = parseCatalog(text, 'tollgate.yaml', {});
  const service = new CatalogService(() => catalog);
  const extras = ['a/plain', 'a/fine', 'a/gone'].map((model) => service.extraOf({ model, pool: 'gpu' }));
  expect(extras).toEqual([undefined, { quality: 'high' }, undefined]);
});
