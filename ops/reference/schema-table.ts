import { z } from 'zod';

interface JsonNode {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  /** Allowed values in words, if the schema's constraints do not express them. */
  readonly allowed?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonNode>>;
  readonly required?: readonly string[];
  readonly items?: JsonNode;
  readonly anyOf?: readonly JsonNode[];
  /** Schema of the entries of a record. */
  readonly additionalProperties?: JsonNode | boolean;
}

/** One setting of a schema. */
export interface SchemaRow {
  /** Path from the top of the schema, e.g. `limits.concurrency`. */
  readonly path: string;
  /** Allowed values in words; empty for plain text. */
  readonly allowed: string;
  /** Default in code font; `required`, or empty if omitting it means what the description says. */
  readonly fallback: string;
  readonly description: string;
}

/** Returns the settings of a schema in their order; members of objects and of lists of objects follow their parent. */
export function schemaRows(schema: z.ZodType): SchemaRow[] {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonNode;
  return membersOf(json, '');
}

/** Formats a Markdown table; cells are escaped. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** Formats the settings of a schema as a table; `without` omits some, with their members. */
export function schemaTable(schema: z.ZodType, without: readonly string[] = []): string {
  const rows = schemaRows(schema).filter(({ path }) => !without.includes(path.split('.')[0] ?? ''));
  return markdownTable(
    ['Setting', 'Allowed', 'Default', ''],
    rows.map(({ path, allowed, fallback, description }) => [`\`${path}\``, allowed, fallback, description]),
  );
}

function membersOf(node: JsonNode, prefix: string): SchemaRow[] {
  const required = new Set(node.required ?? []);
  return Object.entries(node.properties ?? {}).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const row: SchemaRow = {
      path,
      allowed: allowedOf(member),
      fallback: fallbackOf(member, required.has(name)),
      description: member.description ?? '',
    };
    const inner = member.properties ? member : (member.anyOf?.find(({ properties }) => properties) ?? member);
    const items = member.items?.properties ? membersOf(member.items, `${path}[].`) : [];
    const entry = member.additionalProperties;
    const entries = typeof entry === 'object' ? membersOf(entry, `${path}.<name>.`) : [];
    return [row, ...membersOf(inner, `${path}.`), ...items, ...entries];
  });
}

function allowedOf(node: JsonNode): string {
  const { allowed, minimum, maximum } = node;
  if (allowed !== undefined) {
    return allowed;
  }
  const values = node.const === undefined ? node.enum : [node.const];
  if (values) {
    return values.map((value) => `\`${value}\``).join(', ');
  }
  if (minimum !== undefined && maximum !== undefined) {
    const most = maximum === Number.MAX_SAFE_INTEGER ? '2^53 − 1' : maximum.toLocaleString('en-US');
    return `${minimum.toLocaleString('en-US')} to ${most}`;
  }
  if (node.items) {
    const each = node.items.properties ? '' : allowedOf(node.items);
    return each === '' || each === 'text' ? 'a list' : `a list of ${each}`;
  }
  return node.type === 'boolean' ? '`true`, `false`' : '';
}

function fallbackOf({ default: value, properties }: JsonNode, isRequired: boolean): string {
  if (isRequired) {
    return 'required';
  }
  const isEmpty =
    value === '' || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  return value === undefined || properties || isEmpty ? '' : `\`${plain(value)}\``;
}

function plain(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.join(', ')}]`;
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
