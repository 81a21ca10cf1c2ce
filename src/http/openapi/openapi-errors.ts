import { type ErrorCode, errorCodes } from '../../lib/errors.ts';
import type { Route } from '../route.ts';
import type { JsonSchema } from './openapi-portable.ts';

const KEY_ERRORS = ['missing_api_key', 'invalid_api_key', 'key_disabled', 'key_expired'] as const;

/** Errors that every route of an access class can return. */
const COMMON_ERRORS: Readonly<Record<Route['access'], readonly ErrorCode[]>> = {
  public: ['invalid_request', 'rate_limit_exceeded', 'internal_error'],
  inference: ['invalid_request', ...KEY_ERRORS, 'account_suspended', 'rate_limit_exceeded', 'internal_error'],
  owner: ['invalid_request', ...KEY_ERRORS, 'insufficient_scope', 'rate_limit_exceeded', 'internal_error'],
  operator: ['invalid_request', 'invalid_api_key', 'rate_limit_exceeded', 'internal_error'],
  worker: [
    'invalid_request',
    'missing_api_key',
    'invalid_api_key',
    'insufficient_scope',
    'rate_limit_exceeded',
    'internal_error',
  ],
};

const REPEAT_ERRORS = ['idempotency_in_progress', 'idempotency_completed', 'idempotency_key_reused'] as const;

/** Errors that do not depend on the operation. */
const TRANSPORT_ERRORS =
  'method_not_allowed (405), payload_too_large (413), unsupported_media_type (415), headers_too_large (431), service_unavailable (503)';

/** Returns the two error bodies. */
export function errorSchemas(): Record<string, JsonSchema> {
  const error = errorMember();
  return { Error: errorBody(error), TaskError: taskErrorBody(error) };
}

const REQUEST_ID: JsonSchema = {
  type: 'string',
  description: 'Id of this request, the same as the header x-request-id: quote it when you ask for help',
};

/** Returns the member `error` of both error bodies. */
function errorMember(): JsonSchema {
  const codes = errorCodes().map((entry) => entry.code);
  const types = [...new Set(errorCodes().map((entry) => entry.type))];
  return {
    type: 'object',
    description: 'Why the request was rejected or failed',
    required: ['code', 'message'],
    additionalProperties: false,
    properties: {
      code: {
        type: 'string',
        description: 'Stable, for programs; new codes may be added',
        examples: codes,
        'x-extensible-enum': codes,
      },
      message: { type: 'string', description: 'For people; starts with the path of the invalid member' },
      type: {
        type: 'string',
        description: "Class of the code, by Anthropic's names",
        examples: types,
        'x-extensible-enum': types,
      },
    },
  };
}

function errorBody(error: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['error', 'request_id'],
    additionalProperties: false,
    properties: { error, request_id: REQUEST_ID },
    example: {
      error: {
        code: 'invalid_parameter',
        message: 'limit: must be at most 1000',
        type: 'invalid_request_error',
      },
      request_id: 'req_01JD0000000000000000000000',
    },
  };
}

/** Returns a body with Novita's members besides Tollgate's own. */
function taskErrorBody(error: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['code', 'reason', 'message', 'metadata', 'error', 'request_id'],
    additionalProperties: false,
    properties: {
      code: { type: 'integer', description: 'The HTTP status' },
      reason: {
        type: 'string',
        description: "Novita's name for the code of `error`",
        examples: ['INVALID_REQUEST_BODY'],
      },
      message: { type: 'string', description: 'For people: the message of `error`' },
      metadata: {
        type: 'object',
        description: 'Details of the reason; usually empty',
        additionalProperties: { type: 'string' },
      },
      error,
      request_id: REQUEST_ID,
    },
    example: {
      code: 404,
      reason: 'TASK_NOT_FOUND',
      message: 'There is no such task.',
      metadata: {},
      error: { code: 'task_not_found', message: 'There is no such task.', type: 'not_found_error' },
      request_id: 'req_01JD0000000000000000000000',
    },
  };
}

/** Headers of error responses. */
export const ERROR_HEADERS: JsonSchema = {
  'x-request-id': {
    description: 'Id of this request: the one you sent, otherwise a new one',
    schema: { type: 'string' },
  },
  'x-should-retry': {
    description: 'Whether retrying the same request can help; absent when that is unknown',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'WWW-Authenticate': { description: 'Bearer: how to send a key', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds after which a retry can help', schema: { type: 'integer' } },
};

/** Headers that only some statuses have. */
const HEADER_STATUSES: Readonly<Record<string, readonly (number | 'default')[]>> = {
  'Retry-After': [409, 429, 503, 'default'],
  'WWW-Authenticate': [401],
};

function errorHeaders(status: number | 'default'): JsonSchema {
  const names = Object.keys(ERROR_HEADERS).filter((name) => {
    const statuses = HEADER_STATUSES[name];
    return statuses === undefined || statuses.includes(status);
  });
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns the error responses of a route, by status. */
export function errorResponses(route: Route): JsonSchema {
  const table = new Map(errorCodes().map((entry) => [entry.code, entry.status]));
  const byStatus = new Map<number, ErrorCode[]>();
  const repeated = route.idempotency === 'replay' ? REPEAT_ERRORS : [];
  for (const code of new Set([...COMMON_ERRORS[route.access], ...repeated, ...route.errors])) {
    const status = table.get(code) ?? 500;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const name = route.envelope === 'task' ? 'TaskError' : 'Error';
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
  const sorted = [...byStatus].sort(([first], [second]) => first - second);
  return {
    ...Object.fromEntries(
      sorted.map(([status, codes]) => [
        status,
        { description: codes.join(', '), headers: errorHeaders(status), content },
      ]),
    ),
    default: { description: TRANSPORT_ERRORS, headers: errorHeaders('default'), content },
  };
}
