import type { JsonSchema } from '../src/http/openapi/openapi-portable.ts';

/** API schemas that the console uses; schemas they refer to are included. */
const NEEDED = [
  'AccountOverview',
  'Alerts',
  'ApiKey',
  'BalanceTransaction',
  'CheckoutSession',
  'CostRow',
  'CostsTotal',
  'Estimate',
  'Generation',
  'Invoice',
  'Model',
  'Session',
  'SessionSummary',
  'Member',
  'Invitation',
  'SpeedRow',
  'Task',
  'UsageRow',
  'WebhookSecret',
  'Account',
  'AuditEntry',
  'OperatorTask',
  'OperatorTaskDetails',
  'OperatorDelivery',
  'OperatorBrowser',
  'OperatorSession',
  'Pool',
  'Worker',
  'ProviderHealth',
  'LedgerCheck',
  'LedgerProof',
  'Alarm',
  'Margin',
  'PricePeriod',
  'DeferredRevenue',
  'Finding',
  'ChargeRecord',
  'Queue',
];

/** Returns the TypeScript text of those schemas, which is all that the console knows about API responses. */
export function consoleTypes(document: JsonSchema): string {
  const { schemas } = document.components as { schemas: Record<string, JsonSchema> };
  const names = new Set<string>();
  const add = (name: string): void => {
    const schema = schemas[name];
    if (!schema || names.has(name)) {
      return;
    }
    names.add(name);
    for (const [, other = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      add(other);
    }
  };
  NEEDED.forEach(add);
  const types = [...names]
    .sort()
    .map((name) => `export interface ${name} ${typeOf(schemas[name] ?? {}, '')}\n`);
  return `// Written by \`npm run generate\` from openapi.json.\n\n${types.join('\n')}`;
}

function typeOf(schema: JsonSchema, indent: string): string {
  if (typeof schema.$ref === 'string') {
    return schema.$ref.replace('#/components/schemas/', '');
  }
  if ('const' in schema) {
    return literal(schema.const);
  }
  if (Array.isArray(schema.enum)) {
    return schema.enum.map(literal).join(' | ');
  }
  const variants = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (variants) {
    return [...new Set(variants.map((variant) => typeOf(variant, indent)))].join(' | ');
  }
  if (Array.isArray(schema.type)) {
    return schema.type.map((type: string) => typeOf({ ...schema, type }, indent)).join(' | ');
  }
  return plainType(schema, indent);
}

function plainType(schema: JsonSchema, indent: string): string {
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return `readonly (${typeOf((schema.items ?? {}) as JsonSchema, indent)})[]`;
    case 'object':
      return objectType(schema, indent);
    default:
      return 'unknown';
  }
}

function objectType(schema: JsonSchema, indent: string): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  if (properties.length === 0) {
    const values = schema.additionalProperties;
    return `Readonly<Record<string, ${typeof values === 'object' ? typeOf(values as JsonSchema, indent) : 'unknown'}>>`;
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const deeper = `${indent}  `;
  const lines = properties.map(
    ([name, member]) =>
      `${deeper}readonly ${name}${required.has(name) ? '' : '?'}: ${typeOf(member, deeper)};`,
  );
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
