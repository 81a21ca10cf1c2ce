import fc from 'fast-check';
import type { DescribedApi, DescribedOperation } from './described-operations.ts';
import { type FuzzRequest, isPublic } from './mutations.ts';
import { type Schema, valuesOf } from './schema-arbitrary.ts';

/** What exists in a fuzzed installation, so that requests get beyond "not found". */
export interface FuzzWorld {
  readonly keySecret: string;
  readonly operatorToken: string;
  readonly workerToken: string;
  /** Existing ids, by operation and parameter (`getTask.id`), otherwise by parameter. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  /** Bodies that make sense here, by operation, merged with what the schema allows. */
  readonly bodies: Readonly<Record<string, readonly unknown[]>>;
  /** Complete addresses with a valid signature, by operation. */
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  /** Headers by operation. */
  readonly headers: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Generates a request that the description allows: one time in three the example, otherwise any value of the schema. */
export function requestOf(
  operation: DescribedOperation,
  api: DescribedApi,
  world: FuzzWorld,
): fc.Arbitrary<FuzzRequest> {
  return fc.tuple(addressOf(operation, api, world), bodyOf(operation, api, world)).map(([path, body]) => ({
    method: operation.method,
    path,
    headers: { ...credentials(operation, world), ...world.headers[operation.name] },
    body,
  }));
}

function credentials(operation: DescribedOperation, world: FuzzWorld): Record<string, string> {
  if (isPublic(operation)) {
    return {};
  }
  const [, area = ''] = operation.path.split('/');
  const tokens: Readonly<Record<string, string>> = { admin: world.operatorToken, worker: world.workerToken };
  const token = tokens[area] ?? world.keySecret;
  return { authorization: `Bearer ${token}` };
}

function addressOf(operation: DescribedOperation, api: DescribedApi, world: FuzzWorld): fc.Arbitrary<string> {
  const parts = operation.parameters
    .filter((parameter) => parameter.in !== 'header')
    .map((parameter) => {
      const known = world.ids[`${operation.name}.${parameter.name}`] ?? world.ids[parameter.name] ?? [];
      const free = valuesOf(parameter.schema, api.components);
      const value =
        known.length > 0 ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, free) : free;
      return fc.record({
        parameter: fc.constant(parameter),
        value,
        isSent: parameter.required ? fc.constant(true) : fc.boolean(),
      });
    });
  const made = fc.tuple(...parts).map((values) => {
    let { path } = operation;
    const query: string[] = [];
    for (const { parameter, value, isSent } of values) {
      const encoded = encoding(String(value).replace(/[\ud800-\udfff]/g, ''));
      if (parameter.in === 'path') {
        path = path.replace(`{${parameter.name}}`, /^\.{0,2}$/.test(encoded) ? 'x' : encoded);
      } else if (isSent) {
        query.push(`${parameter.name}=${encoded}`);
      }
    }
    return query.length > 0 ? `${path}?${query.join('&')}` : path;
  });
  const whole = world.addresses[operation.name];
  return whole ? fc.oneof(made, fc.constantFrom(...whole)) : made;
}

/** Leaves an id unchanged that is already percent-encoded. */
function encoding(text: string): string {
  return /^(?:[\w.-]|%[0-9A-F]{2})+$/.test(text) ? text : encodeURIComponent(text);
}

function bodyOf(
  operation: DescribedOperation,
  api: DescribedApi,
  world: FuzzWorld,
): fc.Arbitrary<string | undefined> {
  const [type, media] = Object.entries(operation.body ?? {})[0] ?? [];
  if (media === undefined) {
    return fc.constant(undefined);
  }
  const sensible = world.bodies[operation.name] ?? [media.example];
  if (type !== 'application/json') {
    return fc.oneof(fc.constantFrom(...sensible.map(String)), fc.string({ maxLength: 200 }));
  }
  const free = valuesOf(media.schema as Schema, api.components);
  const good = fc.constantFrom(...sensible);
  return fc
    .oneof(
      good,
      free,
      fc.tuple(good, free, fc.nat()).map(([body, other, index]) => withOne(body, other, index)),
    )
    .map((body) => JSON.stringify(body));
}

/** Merges a body with one field of another. */
function withOne(body: unknown, other: unknown, index: number): unknown {
  const members = Object.entries(other as object);
  const [name, value] = members[index % Math.max(1, members.length)] ?? [];
  return name === undefined ? body : { ...(body as object), [name]: value };
}
