import type { AppError, ErrorCode } from '../../lib/errors.ts';
import { FieldError } from '../input/validate.ts';
import type { Route } from '../route.ts';

export type Envelope = Route['envelope'];

/** Paths below the first prefix get errors in Novita's format even where no route matches; paths below the second are OpenAI's. */
const NOVITA_PREFIX = '/v3/';
const NOVITA_CHAT_PREFIX = '/v3/openai/';

/** The reasons that clients of the asynchronous endpoints know. The reason of any other code is its name in upper case. */
const REASONS: Partial<Record<ErrorCode, string>> = {
  invalid_request: 'INVALID_REQUEST_BODY',
  invalid_parameter: 'INVALID_REQUEST_BODY',
  invalid_json: 'INVALID_REQUEST_BODY',
  missing_api_key: 'MISSING_API_KEY',
  invalid_api_key: 'INVALID_API_KEY',
  key_disabled: 'INVALID_API_KEY',
  key_expired: 'INVALID_API_KEY',
  insufficient_scope: 'API_NOT_ALLOWED',
  model_not_allowed: 'API_NOT_ALLOWED',
  account_suspended: 'API_NOT_ALLOWED',
  insufficient_credits: 'BILLING_BALANCE_NOT_ENOUGH',
  key_limit_exceeded: 'BILLING_BALANCE_NOT_ENOUGH',
  route_not_found: 'API_NOT_FOUND',
  service_unavailable: 'SERVICE_NOT_AVAILABLE',
};

/** Returns the envelope for errors on a path that matches no route. */
export function envelopeOfPath(path: string): Envelope {
  return path.startsWith(NOVITA_PREFIX) && !path.startsWith(NOVITA_CHAT_PREFIX) ? 'task' : 'data';
}

/**
 * Returns the body of an error: Tollgate's members, and on paths of the asynchronous API also its own. `mark` is appended to the message.
 */
export function errorBody(error: AppError, requestId: string, envelope: Envelope, mark = ''): object {
  const ours = {
    error: { code: error.code, message: error.message + mark, type: error.type },
    request_id: requestId,
  };
  if (envelope !== 'task') {
    return ours;
  }
  const metadata = error instanceof FieldError ? { [error.field]: error.message } : {};
  return {
    code: error.status,
    reason: taskErrorReason(error.code),
    message: error.message,
    metadata,
    ...ours,
  };
}

/** Returns the name that the asynchronous endpoints use for an error, e.g. `INVALID_REQUEST_BODY`. */
function taskErrorReason(code: ErrorCode): string {
  return REASONS[code] ?? code.toUpperCase();
}

/** Returns the body of a success as it is sent. */
export function successBody(body: object, requestId: string, envelope: Envelope): object {
  return envelope === 'data' ? { ...body, request_id: requestId } : body;
}
