import { type Html, type HtmlValue, html } from '../answers/html.ts';
import type { HtmlPage } from '../answers/html-page.ts';
import type { JsonSchema } from './openapi-portable.ts';

const REFERENCE = '#/components/schemas/';

const DOCS_STYLE = `
:root { --get: #0b6b53; --post: #8a4b08; --patch: #5b3f9e; --delete: #a3232b; }
@media (prefers-color-scheme: dark) { :root { --get: #5cd3b0; --post: #f0b265; --patch: #b9a4f5; --delete: #f58d92; } }
body { display: grid; grid-template-columns: 20rem minmax(0, 1fr); background: var(--card);
  font: 15px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.25rem; border-right: 1px solid var(--line);
  background: var(--page); font-size: 13px; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .15rem 0; overflow-wrap: anywhere; text-decoration: none; color: inherit; }
nav h3 { margin: 1.1rem 0 .3rem; font-size: 12px; text-transform: uppercase; letter-spacing: .06em; color: var(--soft); }
.brand { font-weight: 700; font-size: 16px; text-decoration: none; color: inherit; }
main { padding: 2rem clamp(1rem, 4vw, 4rem); max-width: 64rem; }
a { color: var(--accent); }
article { border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.25rem; margin: 1rem 0; }
article h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 .3rem; font-size: 13px; color: var(--soft); }
b.get, b.post, b.patch, b.delete { text-transform: uppercase; font-size: 11px; letter-spacing: .04em; }
b.get { color: var(--get); } b.post { color: var(--post); } b.patch { color: var(--patch); }
b.delete { color: var(--delete); }
code { font: 13px/1.4 ui-monospace, monospace; }
table { width: 100%; border-collapse: collapse; font-size: 13px; }
td { padding: .35rem .5rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
details { border-top: 1px solid var(--line); padding: .35rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
ul.schema { margin: .3rem 0; padding-left: 1.1rem; font-size: 13px; }
ul.schema span, em { color: var(--soft); }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; } }
`;

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly 'x-access': string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly 'x-codeSamples': readonly { readonly label: string; readonly source: string }[];
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

const ACCESS: Readonly<Record<string, string>> = {
  inference: 'API key',
  owner: 'owner key',
  operator: 'operator token',
};

/** Renders the API description as one HTML page that loads nothing and runs no script. */
export function docsPage(document: JsonSchema): HtmlPage {
  const info = document.info as { title: string; version: string; description: string };
  const schemas = (document.components as { schemas: Record<string, JsonSchema> }).schemas;
  const byTag = entriesByTag(document.paths as Record<string, Record<string, Operation>>);
  const navigation = [...byTag].map(([tag, entries]) => navigationOf(tag, entries));
  const sections = [...byTag].map(
    ([tag, entries]) => html`<section><h2>${tag}</h2>${entries.map(operationHtml)}</section>`,
  );
  const schemaSections = Object.entries(schemas).map(
    ([name, schema]) =>
      html`<details id="schema-${name}"><summary>${name}</summary>${renderSchema(schema)}</details>`,
  );
  const body = html`<nav aria-label="Operations"><a class="brand" href="#top">${info.title}</a>${navigation}
<h3><a href="#schemas">Schemas</a></h3></nav>
<main id="top"><h1>${info.title} <small>${info.version}</small></h1>
<p>${info.description}</p><p><a href="openapi.json">openapi.json</a></p>${sections}
<section id="schemas"><h2>Schemas</h2>${schemaSections}</section></main>`;
  return { title: info.title, style: DOCS_STYLE, body };
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

function navigationOf(tag: string, entries: readonly Entry[]): Html {
  const links = entries.map(
    ({ method, path, operation }) =>
      html`<li><a href="#${operation.operationId}"><b class="${method}">${method}</b> ${path}</a></li>`,
  );
  return html`<h3>${tag}</h3><ul>${links}</ul>`;
}

function operationHtml({ method, path, operation }: Entry): Html {
  const access = ACCESS[operation['x-access']] ?? 'public';
  const rows = operation.parameters.map(parameterRow);
  const table = rows.length > 0 && html`<h4>Parameters</h4><table><tbody>${rows}</tbody></table>`;
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
    ([type, { schema, example }]) =>
      html`<h4>Body <small>${type}</small></h4>${renderSchema(schema)}${exampleHtml(example)}`,
  );
  const responses = Object.entries(operation.responses).map(([status, response]) =>
    responseHtml(status, response),
  );
  return html`<article id="${operation.operationId}"><h3><b class="${method}">${method}</b>
<code>${path}</code></h3><p>${operation.summary}. <em>${access}</em>
${operation.description ?? ''}</p>${samplesHtml(operation)}${table}${bodies}<h4>Responses</h4>${responses}</article>`;
}

function samplesHtml({ 'x-codeSamples': samples }: Operation): Html[] {
  return samples.map(
    ({ label, source }) => html`<details><summary>${label}</summary><pre>${source}</pre></details>`,
  );
}

function parameterRow(parameter: Parameter): Html {
  const { type, enum: values } = parameter.schema;
  const kind = Array.isArray(values) ? values.join(' | ') : String(type ?? 'string');
  return html`<tr><td><code>${parameter.name}</code>${parameter.required && html` <em>required</em>`}</td>
<td>${parameter.in}</td><td>${kind}</td><td>${parameter.description ?? ''}</td></tr>`;
}

function responseHtml(status: string, response: ApiResponse): Html {
  const [content] = Object.values(response.content ?? {});
  const schema = content && [renderSchema(content.schema), exampleHtml(content.example)];
  return html`<details${status.startsWith('2') ? ' open' : ''}><summary><b>${status}</b>
${response.description}</summary>${schema}</details>`;
}

function exampleHtml(example: unknown): HtmlValue {
  if (example === undefined) {
    return undefined;
  }
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return html`<details><summary>Example</summary><pre>${text}</pre></details>`;
}

/** Renders a JSON schema as nested lists. Named schemas become links. */
function renderSchema(schema: JsonSchema): Html {
  if (typeof schema.$ref === 'string') {
    return html`${typeHtml(schema)}`;
  }
  if (schema.type === 'array' && isSchema(schema.items)) {
    return html`<p>array of</p>${renderSchema(schema.items)}`;
  }
  if (!isSchema(schema.properties)) {
    return html`<p>${typeHtml(schema)}</p>`;
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const items = Object.entries(schema.properties).map(([name, member]) =>
    memberHtml(name, isSchema(member) ? member : {}, required.has(name)),
  );
  return html`<ul class="schema">${items}</ul>`;
}

function memberHtml(name: string, member: JsonSchema, required: boolean): Html {
  const inner = isSchema(member.properties)
    ? renderSchema(member)
    : member.type === 'array' && isSchema(member.items) && isSchema(member.items.properties)
      ? renderSchema(member.items)
      : undefined;
  const note = typeof member.description === 'string' ? html` <span>${member.description}</span>` : undefined;
  return html`<li><code>${name}</code>${required ? '' : '?'} ${typeHtml(member)}${note}${inner}</li>`;
}

function typeHtml(schema: JsonSchema): HtmlValue {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.replace(REFERENCE, '');
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    return choices.map((choice, index) => [index > 0 && ' or ', typeHtml(isSchema(choice) ? choice : {})]);
  }
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  }
  if (schema.const !== undefined) {
    return JSON.stringify(schema.const);
  }
  if (schema.type === 'array' && isSchema(schema.items)) {
    return ['array of ', typeHtml(schema.items)];
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : String(schema.type ?? 'any');
  return type + range(schema);
}

function range(schema: JsonSchema): string {
  const { minimum, maximum, maxLength, format } = schema;
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  const bounds = minimum !== undefined && !isOpen ? ` ${String(minimum)}…${String(maximum)}` : '';
  const length = maxLength === undefined ? '' : ` ≤ ${String(maxLength)} characters`;
  return `${format === undefined ? '' : ` (${String(format)})`}${bounds}${length}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
