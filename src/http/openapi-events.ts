import type { ZodType } from 'zod';
import type { JsonSchema } from './openapi-portable.ts';

/** A request that we send to customers. */
export interface EventDescription {
  readonly summary: string;
  readonly description: string;
  /** The payload; with an id. */
  readonly payload: ZodType;
  /** Headers of the request, and what they are. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `ASYNC_TASK_RESULT` → `AsyncTaskResult`, `credits.low` → `CreditsLow`. */
function pascalCase(type: string): string {
  return type.toLowerCase().replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The event as an operation of the customer's server. */
export function eventOperation(
  type: string,
  { summary, description, headers }: Pick<EventDescription, 'summary' | 'description' | 'headers'>,
  payload: JsonSchema,
): JsonSchema {
  const schema = {
    type: 'object',
    required: ['event_type', 'payload'],
    properties: {
      event_type: { type: 'string', const: type, description: 'What the payload is about' },
      payload: { ...payload, description: 'What happened' },
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
