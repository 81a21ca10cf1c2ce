import { renderSchema } from './docs-schema.ts';
import { DOCS_STYLE } from './docs-style.ts';
import { escapeHtml } from './html.ts';
import type { JsonSchema } from './openapi-portable.ts';

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Record<string, unknown>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface ApiResponse {
  readonly description: string;
  readonly content?: Content;
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const ACCESS: Readonly<Record<string, string>> = { bearer: 'API key', operatorToken: 'operator token' };

/** The API description as one page of HTML that loads nothing from anywhere and runs no script. */
export function docsPage(document: JsonSchema): string {
  const info = document.info as { title: string; version: string; description: string };
  const schemas = (document.components as { schemas: Record<string, JsonSchema> }).schemas;
  const byTag = entriesByTag(document.paths as Record<string, Record<string, Operation>>);
  const navigation = [...byTag].map(([tag, entries]) => navigationOf(tag, entries)).join('');
  const sections = [...byTag]
    .map(
      ([tag, entries]) =>
        `<section><h2>${escapeHtml(tag)}</h2>${entries.map(operationHtml).join('')}</section>`,
    )
    .join('');
  const schemaSections = Object.entries(schemas)
    .map(
      ([name, schema]) =>
        `<details id="schema-${escapeHtml(name)}"><summary>${escapeHtml(name)}</summary>${renderSchema(schema)}</details>`,
    )
    .join('');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(info.title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${DOCS_STYLE}</style></head><body>
<nav aria-label="Operations"><a class="brand" href="#top">${escapeHtml(info.title)}</a>${navigation}
<h3><a href="#schemas">Schemas</a></h3></nav>
<main id="top"><h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
<p>${escapeHtml(info.description)}</p><p><a href="openapi.json">openapi.json</a></p>${sections}
<section id="schemas"><h2>Schemas</h2>${schemaSections}</section></main></body></html>`;
}

function entriesByTag(
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>,
): Map<string, Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags[0] ?? 'Other';
      found.set(tag, [...(found.get(tag) ?? []), { method, path, operation }]);
    }
  }
  return found;
}

function navigationOf(tag: string, entries: readonly Entry[]): string {
  const links = entries.map(
    ({ method, path, operation }) =>
      `<li><a href="#${escapeHtml(operation.operationId)}"><b class="${method}">${method}</b> ${escapeHtml(path)}</a></li>`,
  );
  return `<h3>${escapeHtml(tag)}</h3><ul>${links.join('')}</ul>`;
}

function operationHtml({ method, path, operation }: Entry): string {
  const access =
    operation.security.map((scheme) => ACCESS[Object.keys(scheme)[0] ?? '']).find(Boolean) ?? 'public';
  const rows = operation.parameters.map(parameterRow).join('');
  const table = rows && `<h4>Parameters</h4><table><tbody>${rows}</tbody></table>`;
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
    ([type, { schema, example }]) =>
      `<h4>Body <small>${escapeHtml(type)}</small></h4>${renderSchema(schema)}${exampleHtml(example)}`,
  );
  const responses = Object.entries(operation.responses).map(([status, response]) =>
    responseHtml(status, response),
  );
  return `<article id="${escapeHtml(operation.operationId)}"><h3><b class="${method}">${method}</b>
<code>${escapeHtml(path)}</code></h3><p>${escapeHtml(operation.summary)}. <em>${escapeHtml(access)}</em>
${escapeHtml(operation.description ?? '')}</p>${table}${bodies.join('')}<h4>Responses</h4>${responses.join('')}</article>`;
}

function parameterRow(parameter: Parameter): string {
  const { type, enum: values } = parameter.schema;
  const kind = Array.isArray(values) ? values.join(' | ') : String(type ?? 'string');
  return `<tr><td><code>${escapeHtml(parameter.name)}</code>${parameter.required ? ' <em>required</em>' : ''}</td>
<td>${escapeHtml(parameter.in)}</td><td>${escapeHtml(kind)}</td><td>${escapeHtml(parameter.description ?? '')}</td></tr>`;
}

function responseHtml(status: string, response: ApiResponse): string {
  const [content] = Object.values(response.content ?? {});
  const schema = content ? renderSchema(content.schema) + exampleHtml(content.example) : '';
  return `<details${status.startsWith('2') ? ' open' : ''}><summary><b>${escapeHtml(status)}</b>
${escapeHtml(response.description)}</summary>${schema}</details>`;
}

function exampleHtml(example: unknown): string {
  if (example === undefined) {
    return '';
  }
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return `<details><summary>Example</summary><pre>${escapeHtml(text)}</pre></details>`;
}
