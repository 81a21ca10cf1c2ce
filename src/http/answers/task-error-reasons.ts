import type { ErrorCode } from '../../lib/errors.ts';

/** The reasons that clients of the asynchronous endpoints know; every other code is its own name in upper case. */
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

/** What the asynchronous endpoints call an error, e.g. `INVALID_REQUEST_BODY`. */
export function taskErrorReason(code: ErrorCode): string {
  return REASONS[code] ?? code.toUpperCase();
}
