import fc from 'fast-check';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const HOSTILE = fc.constantFrom<unknown>(
  null,
  true,
  -1,
  0,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x'.repeat(5000),
  "' OR 1=1 --",
  '%00',
  '../../etc/passwd',
  '{{7*7}}',
  [],
  [[[]]],
  {},
  { __proto__: { a: 1 } },
  { constructor: { prototype: { a: 1 } } },
  { $ne: null },
);

const BROKEN_BODIES = fc.constantFrom(
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '5',
  'NaN',
  '{"a":1,}',
  '\ufeff{}',
  '{"__proto__":1}',
  '['.repeat(40),
);
const CONTENT_TYPES = fc.constantFrom(
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'multipart/form-data',
  '',
);
const HOSTILE_TEXT = fc.oneof(
  fc.constantFrom(
    '%00',
    '%',
    '%ff',
    'a&b=c',
    '..',
    '%2e%2e%2f',
    "'",
    '"',
    '-1',
    '99999999999999999999',
    '[]',
    'null',
    '\u{1f600}',
  ),
  fc.string({ maxLength: 30 }),
);

/** A request with one thing wrong, or at least strange, about it. */
export function mutated(request: FuzzRequest): fc.Arbitrary<FuzzRequest> {
  const changes: fc.Arbitrary<FuzzRequest>[] = [
    HOSTILE_TEXT.map((text) => ({
      ...request,
      path: `${request.path}${joint(request.path)}${encodeURIComponent(safe(text))}=1`,
    })),
    HOSTILE_TEXT.map((text) => ({
      ...request,
      path: swapLastSegment(request.path, encodeURIComponent(safe(text))),
    })),
    fc
      .constantFrom('PUT', 'PATCH', 'DELETE', 'POST', 'GET')
      .map((method) => ({ ...request, method, body: method === 'GET' ? undefined : request.body })),
    fc
      .constantFrom(
        'limit=0',
        'limit=1e3',
        'cursor=x',
        'cursor=W10',
        'start_time=',
        'limit=1&limit=2',
        'cursor=%00',
      )
      .map((query) => ({
        ...request,
        path: `${request.path}${joint(request.path)}${query}`,
      })),
    fc
      .constantFrom('Bearer x', 'Basic a', '', 'Bearer sk-tg-v1-x')
      .map((authorization) => ({ ...request, headers: { ...request.headers, authorization } })),
    HOSTILE_TEXT.map((text) => ({
      ...request,
      headers: { ...request.headers, 'x-request-id': headerText(text), 'idempotency-key': headerText(text) },
    })),
  ];
  if (request.body !== undefined) {
    const { body } = request;
    changes.push(
      BROKEN_BODIES.map((broken) => ({ ...request, body: broken })),
      CONTENT_TYPES.map((type) => ({ ...request, headers: { ...request.headers, 'content-type': type } })),
      fc
        .tuple(fc.nat(), HOSTILE)
        .map(([index, value]) => ({ ...request, body: withMember(body, index, value) })),
      fc
        .tuple(fc.nat(), HOSTILE)
        .map(([index, value]) => ({ ...request, body: withMember(body, index, value) })),
    );
  }
  return fc.oneof(...changes);
}

function joint(path: string): string {
  return path.includes('?') ? '&' : '?';
}

function swapLastSegment(path: string, segment: string): string {
  return path.replace(/[^/?]+(?=\?|$)/, segment || 'x');
}

function withMember(body: string, index: number, value: unknown): string {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  const names = [...Object.keys(parsed), 'something'];
  return JSON.stringify({ ...parsed, [names[index % names.length] ?? 'x']: value });
}

/** Lone surrogates cannot be percent-encoded. */
function safe(text: string): string {
  return text.replace(/[\ud800-\udfff]/g, '');
}

function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').trim();
}
