import type { ZodType } from 'zod';
import type { JsonSchema } from './openapi-portable.ts';
import type { SchemaRegistry } from './openapi-schemas.ts';

/** A request that Tollgate sends to customers. */
export interface EventDescription {
  readonly summary: string;
  readonly description: string;
  /** Schema of the payload; must have an id. */
  readonly payload: ZodType;
  /** Headers of the request, with their descriptions. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `ASYNC_TASK_RESULT` → `AsyncTaskResult`, `credits.low` → `CreditsLow`. */
function pascalCase(type: string): string {
  return type.toLowerCase().replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Describes an event as an operation of the customer's server. The body of `credits.low` is named `CreditsLowEvent`. */
export function eventOperation(type: string, event: EventDescription, schemas: SchemaRegistry): JsonSchema {
  const { summary, description, headers, payload } = event;
  const name = pascalCase(type);
  const schema = schemas.name(`${name}Event`, {
    type: 'object',
    required: ['event_type', 'payload'],
    properties: {
      event_type: { type: 'string', const: type, description: 'What the payload is about' },
      payload: { ...schemas.convert(payload, 'output'), description: 'What happened' },
    },
  });
  return {
    operationId: `receive${name}`,
    summary,
    description,
    tags: ['Webhooks'],
    security: [],
    parameters: Object.entries(headers).map(([header, text]) => ({
      name: header,
      in: 'header',
      required: true,
      description: text,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { '2XX': { description: 'Received; any other status is retried, except 410' } },
  };
}
