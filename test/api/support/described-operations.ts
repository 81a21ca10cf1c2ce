import { readFileSync } from 'node:fs';
import type { Schema } from './schema-arbitrary.ts';

export interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly example?: unknown;
  readonly schema: Schema;
}

export interface DescribedResponse {
  readonly content?: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;
}

export interface DescribedOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly DescribedParameter[];
  /** Ways to authenticate. An empty list means that the operation is public. */
  readonly security: readonly object[];
  /** Schemas by media type. */
  readonly body:
    | Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
    | undefined;
  /** Whether a success may be a stream of events instead. */
  readonly streams: boolean;
  /** Media types that a success may have instead of JSON. */
  readonly otherMediaTypes: readonly string[];
  /** Responses by status. */
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

export interface DescribedApi {
  readonly operations: readonly DescribedOperation[];
  readonly components: Readonly<Record<string, Schema>>;
}

interface RawOperation {
  readonly operationId: string;
  readonly parameters: DescribedOperation['parameters'];
  readonly security: DescribedOperation['security'];
  readonly 'x-event-stream'?: object;
  readonly 'x-other-media-types'?: readonly string[];
  readonly requestBody?: { readonly content: NonNullable<DescribedOperation['body']> };
  readonly responses: DescribedOperation['responses'];
}

/** Returns the operations of openapi.json, which another test keeps equal to the routes. */
export function describedApi(): DescribedApi {
  const file = new URL('../../../openapi.json', import.meta.url);
  const { paths, components } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, requestBody, ...operation }]) => ({
      ...operation,
      name: operationId,
      method: method.toUpperCase(),
      path,
      body: requestBody?.content,
      streams: operation['x-event-stream'] !== undefined,
      otherMediaTypes: operation['x-other-media-types'] ?? [],
    })),
  );
  return { operations, components: components.schemas };
}
