import { type Html, type HtmlValue, html } from '../answers/html.ts';
import type { JsonSchema } from './openapi-portable.ts';

const REFERENCE = '#/components/schemas/';

/** A JSON schema as nested lists; named schemas are links. */
export function renderSchema(schema: JsonSchema): Html {
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
