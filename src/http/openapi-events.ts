import type { JsonSchema } from './openapi-portable.ts';

/** A request that we send to customers. */
export interface EventDescription {
  readonly summary: string;
  readonly description: string;
  /** Name of the schema that the payload has. */
  readonly payloadSchema: string;
  /** Headers of the request, and what they are. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `ASYNC_TASK_RESULT` → `AsyncTaskResult`. */
function pascalCase(type: string): string {
  return type.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The event as an operation of the customer's server. */
export function eventOperation(
  type: string,
  { summary, description, payloadSchema, headers }: EventDescription,
): JsonSchema {
  const schema = {
    type: 'object',
    required: ['event_type', 'payload'],
    properties: {
      event_type: { type: 'string', const: type, description: 'What the payload is about' },
      payload: {
        description: 'What a read of the task would answer at that moment',
        $ref: `#/components/schemas/${payloadSchema}`,
      },
    },
  };
  return {
    operationId: `receive${pascalCase(type)}`,
    summary,
    description,
    tags: ['Webhooks'],
    security: [],
    parameters: Object.entries(headers).map(([name, text]) => ({
      name,
      in: 'header',
      required: true,
      description: text,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { '2XX': { description: 'Heard; anything else is tried again, 410 is not' } },
  };
}
