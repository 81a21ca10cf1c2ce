import fc from 'fast-check';
import type { DescribedOperation } from './described-operations.ts';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Mutation {
  readonly request: FuzzRequest;
  /** Statuses that the answer must have one of. Undefined when the request is merely unusual and the route may accept or reject it. */
  readonly expected: readonly number[] | undefined;
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

const NO_OBJECTS = ['', '{', 'null', '[]', '"x"', '5', 'NaN', '{"a":1,}', '['.repeat(40)];
const STRANGE_BODIES = ['\ufeff{}', '{"__proto__":1}', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`];
const WRONG_TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'multipart/form-data',
];
const WRONG_QUERIES = ['limit=0', 'limit=1e3', 'limit=1001', 'cursor=x', 'cursor=W10', 'limit=1&limit=2'];
const WRONG_CREDENTIALS = [
  'Bearer x',
  'Basic a',
  '',
  'Bearer sk-tg-v1-x',
  `Bearer sk-tg-v1-${'a'.repeat(49)}`,
];
const METHODS = ['PUT', 'PATCH', 'DELETE', 'POST', 'GET'];

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

/** Generates a request with one thing wrong or at least unusual. `methods` are the methods of its path. */
export function mutated(
  operation: DescribedOperation,
  request: FuzzRequest,
  methods: readonly string[],
): fc.Arbitrary<Mutation> {
  return fc.oneof(
    ...addressMutations(operation, request),
    ...headMutations(request, methods),
    ...(request.body === undefined ? [] : bodyMutations(operation, request, request.body)),
  );
}

function addressMutations(operation: DescribedOperation, request: FuzzRequest): fc.Arbitrary<Mutation>[] {
  const takesQuery = operation.parameters.some(({ in: place }) => place === 'query');
  const isPage = operation.parameters.some(({ name }) => name === 'cursor');
  // a file is open to anyone with its link, so it accepts the extra query parameters that links get decorated with
  const isStrict = takesQuery && !isPublic(operation);
  const unknownObject = operation.path.includes('{') ? [404] : [];
  const found: fc.Arbitrary<Mutation>[] = [
    HOSTILE_TEXT.map((text) => ({
      request: withQuery(request, `x-${encodeURIComponent(safe(text))}=1`),
      expected: isStrict ? [400] : undefined,
    })),
    HOSTILE_TEXT.map((text) => ({
      request: { ...request, path: swapLastSegment(request.path, encodeURIComponent(safe(text))) },
      expected: undefined,
    })),
  ];
  if (isPage) {
    found.push(
      fc
        .constantFrom(...WRONG_QUERIES)
        .map((query) => ({ request: withQuery(bare(request), query), expected: [400, ...unknownObject] })),
    );
  }
  return found;
}

function headMutations(request: FuzzRequest, methods: readonly string[]): fc.Arbitrary<Mutation>[] {
  const others = METHODS.filter((method) => !methods.includes(method));
  const { headers } = request;
  return [
    fc.constantFrom(...others).map((method) => ({
      request: { ...request, method, body: method === 'GET' ? undefined : request.body },
      expected: [405],
    })),
    fc.constantFrom(...WRONG_CREDENTIALS).map((authorization) => ({
      request: { ...request, headers: { ...headers, authorization } },
      expected: headers.authorization === undefined ? undefined : [401],
    })),
    HOSTILE_TEXT.map((text) => ({
      request: {
        ...request,
        headers: { ...headers, 'x-request-id': headerText(text), 'idempotency-key': headerText(text) },
      },
      expected: undefined,
    })),
  ];
}

function bodyMutations(
  operation: DescribedOperation,
  request: FuzzRequest,
  body: string,
): fc.Arbitrary<Mutation>[] {
  if (!operation.body?.['application/json']) {
    return [HOSTILE_TEXT.map((text) => ({ request: { ...request, body: text }, expected: undefined }))];
  }
  const { headers } = request;
  return [
    fc.constantFrom(...NO_OBJECTS).map((text) => ({ request: { ...request, body: text }, expected: [400] })),
    fc
      .constantFrom(...STRANGE_BODIES)
      .map((text) => ({ request: { ...request, body: text }, expected: undefined })),
    fc.constantFrom(...WRONG_TYPES).map((type) => ({
      request: { ...request, headers: { ...headers, 'content-type': type } },
      expected: [415],
    })),
    ...[1, 2].map(() =>
      fc.tuple(fc.nat(), HOSTILE).map(([index, value]) => ({
        request: { ...request, body: withMember(body, index, value) },
        expected: undefined,
      })),
    ),
  ];
}

export function isPublic(operation: Pick<DescribedOperation, 'security'>): boolean {
  return operation.security.length === 0;
}

function bare(request: FuzzRequest): FuzzRequest {
  return { ...request, path: request.path.split('?', 1)[0] ?? '' };
}

function withQuery(request: FuzzRequest, query: string): FuzzRequest {
  return { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}${query}` };
}

function swapLastSegment(path: string, segment: string): string {
  return path.replace(/[^/?]+(?=\?|$)/, segment || 'x');
}

function withMember(body: string, index: number, value: unknown): string {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  const names = [...Object.keys(parsed), 'something'];
  return JSON.stringify({ ...parsed, [names[index % names.length] ?? 'x']: value });
}

/** Replaces lone surrogates, which cannot be percent-encoded. */
function safe(text: string): string {
  return text.replace(/[\ud800-\udfff]/g, '');
}

function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').trim();
}
