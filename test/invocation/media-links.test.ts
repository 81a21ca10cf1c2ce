import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** Media by URL, which providers fetch: in every dialect, in every place. */

const LINK = 'http://pictures.example/a.png';

let upstreams: Readonly<Record<string, UpstreamServer>>;
const gateways: Gateway[] = [];

beforeAll(async () => {
  upstreams = { openai: await startOpenAiUpstream(), anthropic: await startAnthropicUpstream() };
  for (const httpMediaUrls of [false, true]) {
    const gateway = await Gateway.start({
      providers: Object.entries(upstreams).map(([id, { url }]) => ({ id, protocol: id, base_url: url })),
      models: Object.keys(upstreams).map((id) =>
        model(id, [{ provider: id, model: 'm' }], {
          inputModalities: ['text', 'image', 'file', 'video'],
          itemTokens: { image: 1_600, file: 3_000, video: 3_000 },
        }),
      ),
      settings: { httpMediaUrls },
    });
    gateways.push(gateway);
  }
});

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.close()));
});

const user = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
const source = (url: string) => ({ type: 'url', url });

/** Places for media by URL, and the providers that can express them. */
const PLACES: readonly (readonly [
  path: string,
  place: string,
  body: (url: string) => object,
  only?: string,
])[] = [
  ['/api/v1/chat/completions', 'an image', (url) => user({ type: 'image_url', image_url: { url } })],
  ['/api/v1/chat/completions', 'a bare image', (url) => user({ type: 'image_url', image_url: url })],
  ['/api/v1/chat/completions', 'a video', (url) => user({ type: 'video_url', video_url: { url } }), 'openai'],
  ['/api/v1/chat/completions', 'a file', (url) => user({ type: 'file', file: { file_data: url } })],
  ['/vendorx/v1/messages', 'an image', (url) => user({ type: 'image', source: source(url) })],
  [
    '/vendorx/v1/messages',
    'a document',
    (url) => user({ type: 'document', source: source(url) }),
    'anthropic',
  ],
  [
    '/vendorx/v1/messages',
    'an image in a result',
    (url) => ({
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'image', source: source(url) }],
            },
          ],
        },
      ],
    }),
  ],
  [
    '/api/v1/responses',
    'an image',
    (url) => ({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }),
  ],
  [
    '/api/v1/responses',
    'a file',
    (url) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_data: url }] }] }),
  ],
];

async function send(gateway: Gateway, path: string, body: object): Promise<string> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return response.ok ? 'answered' : `${response.status} ${JSON.parse(text).error.message}`;
}

const CASES = PLACES.flatMap(([path, place, body, only]) =>
  ['openai', 'anthropic']
    .filter((provider) => only === undefined || provider === only)
    .map((provider) => [path, place, provider, body] as const),
);

test.each(CASES)('checks links at %s, %s, by %s', async (path, _place, provider, body) => {
  const [strict, open] = gateways as [Gateway, Gateway];
  const upstream = upstreams[provider]!;
  const say = (gateway: Gateway, url: string) =>
    send(gateway, path, { model: provider, max_tokens: 50, ...body(url) });
  upstream.reset();
  expect(await say(strict, LINK)).toContain(`400 "${LINK}`);
  expect(await say(open, 'http://169.254.169.254/latest')).toMatch(/^400 .*public host/);
  expect(await say(open, 'file:///etc/passwd')).toMatch(/^400 /);
  expect(upstream.requests).toHaveLength(0);
  expect(await say(strict, LINK.replace('http:', 'https:'))).toBe('answered');
  expect(await say(open, LINK)).toBe('answered');
  expect(JSON.stringify(upstream.last.body)).toContain(LINK);
});
