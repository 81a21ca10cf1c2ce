import type { JsonSchema } from '../../src/http/openapi/openapi-portable.ts';
import { documentOf } from '../openapi-routes.ts';
import { markdownTable } from './schema-table.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<
    Record<string, { readonly headers?: Readonly<Record<string, { description?: string; $ref?: string }>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
  };
}

const OPERATOR_HEAD = `# Operator API

\`npm run generate\` writes this page from the routes. Everything below \`/admin/v1\` takes \`Authorization: Bearer <operator token>\`
(\`ADMIN_TOKEN\`, or a personal one from \`ADMIN_TOKENS\`), never a customer's key. The [command line](cli.md) uses it; \`/docs\` of a running service
shows every field. Responses are \`{"data": …, "request_id"}\`; lists take \`cursor\` and \`limit\`, and return a \`Link\` to the next page; errors are
the [common ones](errors.md). Every POST takes an \`Idempotency-Key\`. Every change is recorded in the audit log under the token's name.

`;

const HEADERS_HEAD = `# Headers

\`npm run generate\` writes this page from the routes. It lists the headers whose meaning goes beyond plain HTTP. Names are not case-sensitive.

## In requests

| Header | Where | |
|---|---|---|
| \`Authorization\` | everywhere | \`Bearer\` and the key or the operator token |
| \`x-api-key\` | everywhere a key is accepted | the key, as Anthropic's SDKs send it |
| \`x-stainless-retry-count\` | calls | how often an SDK has already retried: a retry joins the call that its client abandoned |
| \`traceparent\` | everywhere | W3C trace context; the spans of the request become its children |
`;

/** Returns the operator API as a page of the docs. */
export function operatorReference(): string {
  const document = documentOf() as unknown as Document;
  const rows = operationsOf(document)
    .filter(({ path }) => path.startsWith('/admin/'))
    .map(({ path, method, operation }) => [
      `\`${method.toUpperCase()} ${path}\``,
      operation.summary,
      membersOf(operation, document),
    ]);
  return `${OPERATOR_HEAD}${markdownTable(['Operation', '', 'Takes'], rows)}\n`;
}

/** Returns every header with a meaning of its own as a page of the docs. */
export function headersReference(): string {
  const document = documentOf() as unknown as Document;
  const operations = operationsOf(document).map(({ operation }) => operation);
  const requests = new Map<string, { description: string; count: number }>();
  const responses = new Map<string, { description: string; count: number }>();
  const note = (map: typeof requests, name: string, description: string) =>
    map.set(name, { description, count: (map.get(name)?.count ?? 0) + 1 });
  for (const { parameters, responses: answers } of operations) {
    for (const { name, description = '' } of parameters.filter((parameter) => parameter.in === 'header')) {
      note(requests, name, description);
    }
    const named = new Map(Object.values(answers).flatMap(({ headers = {} }) => Object.entries(headers)));
    for (const [name, { description }] of named) {
      note(responses, name, description ?? document.components.headers[name]?.description ?? '');
    }
  }
  const table = (map: typeof requests) =>
    [...map].map(([name, { description, count }]) => {
      const where = count === operations.length ? 'everywhere' : `${count} operations`;
      return [`\`${name}\``, where, description];
    });
  const sent = table(requests).map((cells) => `| ${cells.join(' | ')} |`);
  return `${HEADERS_HEAD}${sent.join('\n')}\n\n## In answers\n\n${markdownTable(['Header', 'Where', ''], table(responses))}\n`;
}

function operationsOf({ paths }: Document): { path: string; method: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Returns the members of query and body by name, required ones in bold. */
function membersOf({ parameters, requestBody }: Operation, { components }: Document): string {
  const queried = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => `\`?${name}\``);
  const { $ref, ...schema } = requestBody?.content['application/json']?.schema ?? {};
  const body = typeof $ref === 'string' ? components.schemas[$ref.split('/').at(-1) ?? ''] : schema;
  const required = new Set(Array.isArray(body?.required) ? body.required : []);
  const members = Object.keys(body?.properties ?? {}).map((name) =>
    required.has(name) ? `**\`${name}\`**` : `\`${name}\``,
  );
  return [...queried, ...members].join(', ');
}
