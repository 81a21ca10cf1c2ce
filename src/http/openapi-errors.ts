import { errorCodes } from '../lib/errors.ts';
import type { JsonSchema } from './openapi-portable.ts';

/** The two error bodies. */
export function errorSchemas(): Record<string, JsonSchema> {
  const codes = errorCodes().map((entry) => entry.code);
  const types = [...new Set(errorCodes().map((entry) => entry.type))];
  const error: JsonSchema = {
    type: 'object',
    required: ['code', 'message'],
    additionalProperties: false,
    properties: {
      code: {
        type: 'string',
        description: 'Stable, for programs; more may come',
        examples: codes,
        'x-extensible-enum': codes,
      },
      message: { type: 'string', description: 'For people; begins with the path of a wrong member' },
      type: { type: 'string', examples: types, 'x-extensible-enum': types },
    },
  };
  const requestId: JsonSchema = { type: 'string' };
  return {
    Error: {
      type: 'object',
      required: ['error', 'request_id'],
      additionalProperties: false,
      properties: { error, request_id: requestId },
      example: {
        error: {
          code: 'invalid_parameter',
          message: 'limit: Too big: expected number to be <=1000',
          type: 'invalid_request_error',
        },
        request_id: 'req_01JD0000000000000000000000',
      },
    },
    TaskError: {
      type: 'object',
      required: ['code', 'reason', 'message', 'metadata', 'error', 'request_id'],
      additionalProperties: false,
      properties: {
        code: { type: 'integer', description: 'The HTTP status' },
        reason: { type: 'string', examples: ['INVALID_REQUEST_BODY'] },
        message: { type: 'string' },
        metadata: { type: 'object', additionalProperties: { type: 'string' } },
        error,
        request_id: requestId,
      },
      example: {
        code: 404,
        reason: 'TASK_NOT_FOUND',
        message: 'There is no such task.',
        metadata: {},
        error: { code: 'task_not_found', message: 'There is no such task.', type: 'not_found_error' },
        request_id: 'req_01JD0000000000000000000000',
      },
    },
  };
}
