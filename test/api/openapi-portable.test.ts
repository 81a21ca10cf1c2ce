import { documentOf } from '../../ops/openapi-routes.ts';

/**
 * Forms for which client generators produce code that does not compile. `npm run test:openapi` runs the generators themselves, which
 * takes minutes and the tools of five languages. Each rule here is a fault that one of them had.
 */

interface Media {
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
}

type Place = readonly [place: string, operation: Operation];

const document = JSON.parse(JSON.stringify(documentOf())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly 'x-webhooks': Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

const places = (of: Readonly<Record<string, Readonly<Record<string, Operation>>>>): Place[] =>
  Object.entries(of).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  );
const calls = places(document.paths);
const events = places(document['x-webhooks']);

test('no type is a union of plain types: Java and TypeScript get classes for it that do not compile', () => {
  const found: string[] = [];
  let unions = 0;
  walk(document, '', (value, path) => {
    const { oneOf, anyOf, type } = value as { oneOf?: Schema[]; anyOf?: Schema[]; type?: unknown };
    const types = [type].flat().map((name) => ({ type: name }) as Schema);
    const choices = (oneOf ?? anyOf ?? types).filter((choice) => choice.type !== 'null');
    unions += oneOf || anyOf ? 1 : 0;
    if (choices.length > 1 && choices.every(isPlain)) {
      found.push(path);
    }
  });
  expect(found).toEqual([]);
  expect(unions).toBeGreaterThan(10);
});

test('events are outside the paths that generators read and their bodies have names: otherwise Python gets arguments without a type', () => {
  expect(document).not.toHaveProperty('webhooks');
  expect(events.length).toBeGreaterThan(2);
  for (const [place, { requestBody }] of events) {
    const { schema } = requestBody?.content['application/json'] ?? {};
    const reference = expect.stringMatching(/^#\/components\/schemas\/\w+Event$/);
    expect([place, schema]).toEqual([place, { $ref: reference }]);
  }
});

test('no field has a default: openapi-typescript makes every field with one required', () => {
  const found: string[] = [];
  walk(document, '', (value, path) => {
    if ('default' in value && !/\/(responses|properties)$/.test(path)) {
      found.push(path);
    }
  });
  expect(found).toEqual([]);
});

test('an answer has one schema for all media types: otherwise openapi-typescript makes it "an object or a text"', () => {
  const found = calls.flatMap(([place, { responses }]) =>
    Object.entries(responses)
      .map(([status, { content = {} }]) => [place, status, Object.values(content)] as const)
      .filter(([, , forms]) => new Set(forms.map(({ schema }) => JSON.stringify(schema))).size > 1),
  );
  expect(found).toEqual([]);
});

test('JSON objects in bodies and answers have names', () => {
  const found = [...calls, ...events].flatMap(([place, { requestBody, responses }]) =>
    [requestBody, ...Object.values(responses)]
      .map((one) => one?.content?.['application/json']?.schema)
      .filter((schema) => schema?.type === 'object' && 'properties' in schema)
      .map(() => place),
  );
  expect(found).toEqual([]);
});

test('schema names differ by more than case: each becomes a file, and some file systems ignore case', () => {
  const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

function isPlain({ type }: Schema): boolean {
  return typeof type === 'string' && /^(string|integer|number|boolean)$/.test(type);
}

/** Calls `see` for each object of the document except those in examples, which may contain anything. */
function walk(value: unknown, path: string, see: (value: object, path: string) => void): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  see(value, path);
  for (const [name, member] of Object.entries(value)) {
    if (name !== 'example' && name !== 'examples') {
      walk(member, `${path}/${name}`, see);
    }
  }
}
