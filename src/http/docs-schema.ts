import { escapeHtml } from './html.ts';
import type { JsonSchema } from './openapi-portable.ts';

const REFERENCE = '#/components/schemas/';

/** A JSON schema as nested lists; named schemas are links. */
export function renderSchema(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') {
    return typeHtml(schema);
  }
  if (schema.type === 'array' && isSchema(schema.items)) {
    return `<p>array of</p>${renderSchema(schema.items)}`;
  }
  if (!isSchema(schema.properties)) {
    return `<p>${typeHtml(schema)}</p>`;
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const items = Object.entries(schema.properties).map(([name, member]) =>
    memberHtml(name, isSchema(member) ? member : {}, required.has(name)),
  );
  return `<ul class="schema">${items.join('')}</ul>`;
}

function memberHtml(name: string, member: JsonSchema, required: boolean): string {
  const inner = isSchema(member.properties)
    ? renderSchema(member)
    : member.type === 'array' && isSchema(member.items) && isSchema(member.items.properties)
      ? renderSchema(member.items)
      : '';
  const note =
    typeof member.description === 'string' ? ` <span>${escapeHtml(member.description)}</span>` : '';
  return `<li><code>${escapeHtml(name)}</code>${required ? '' : '?'} ${typeHtml(member)}${note}${inner}</li>`;
}

function typeHtml(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.replace(REFERENCE, '');
    return `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    return choices.map((choice) => typeHtml(isSchema(choice) ? choice : {})).join(' or ');
  }
  if (Array.isArray(schema.enum)) {
    return escapeHtml(schema.enum.map((value) => JSON.stringify(value)).join(' | '));
  }
  if (schema.const !== undefined) {
    return escapeHtml(JSON.stringify(schema.const));
  }
  if (schema.type === 'array' && isSchema(schema.items)) {
    return `array of ${typeHtml(schema.items)}`;
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : String(schema.type ?? 'any');
  return escapeHtml(type + range(schema));
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
