import { toUSVString } from 'node:util';

/** HTTP status and category of every error code a client can see. The only table of codes. */
const ERROR_TABLE = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  invalid_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_json: { status: 400, type: 'invalid_request_error' },
  unsupported_input: { status: 400, type: 'invalid_request_error' },
  model_not_supported_on_endpoint: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  invalid_cursor: { status: 400, type: 'invalid_request_error' },
  unsupported_currency: { status: 400, type: 'invalid_request_error' },
  missing_api_key: { status: 401, type: 'authentication_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  key_disabled: { status: 401, type: 'authentication_error' },
  key_expired: { status: 401, type: 'authentication_error' },
  insufficient_credits: { status: 402, type: 'billing_error' },
  key_limit_exceeded: { status: 402, type: 'billing_error' },
  max_cost_exceeded: { status: 402, type: 'billing_error' },
  insufficient_scope: { status: 403, type: 'permission_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  account_suspended: { status: 403, type: 'permission_error' },
  signature_invalid: { status: 403, type: 'permission_error' },
  login_too_old: { status: 403, type: 'permission_error' },
  csrf_rejected: { status: 403, type: 'permission_error' },
  route_not_found: { status: 404, type: 'not_found_error' },
  key_not_found: { status: 404, type: 'not_found_error' },
  model_not_found: { status: 404, type: 'not_found_error' },
  generation_not_found: { status: 404, type: 'not_found_error' },
  checkout_session_not_found: { status: 404, type: 'not_found_error' },
  transaction_not_found: { status: 404, type: 'not_found_error' },
  invoice_not_found: { status: 404, type: 'not_found_error' },
  task_not_found: { status: 404, type: 'not_found_error' },
  session_not_found: { status: 404, type: 'not_found_error' },
  member_not_found: { status: 404, type: 'not_found_error' },
  invitation_not_found: { status: 404, type: 'not_found_error' },
  account_not_found: { status: 404, type: 'not_found_error' },
  worker_not_found: { status: 404, type: 'not_found_error' },
  queue_not_found: { status: 404, type: 'not_found_error' },
  delivery_not_found: { status: 404, type: 'not_found_error' },
  media_not_found: { status: 404, type: 'not_found_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  idempotency_in_progress: { status: 409, type: 'invalid_request_error' },
  idempotency_completed: { status: 409, type: 'invalid_request_error' },
  key_in_use: { status: 409, type: 'invalid_request_error' },
  too_many_keys: { status: 409, type: 'invalid_request_error' },
  too_many_invitations: { status: 409, type: 'invalid_request_error' },
  task_not_cancelable: { status: 409, type: 'invalid_request_error' },
  task_not_finished: { status: 409, type: 'invalid_request_error' },
  task_not_retryable: { status: 409, type: 'invalid_request_error' },
  media_expired: { status: 410, type: 'not_found_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 422, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  concurrency_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  provider_rate_limited: { status: 429, type: 'rate_limit_error' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  internal_error: { status: 500, type: 'api_error' },
  provider_error: { status: 502, type: 'api_error' },
  service_unavailable: { status: 503, type: 'overloaded_error' },
  provider_overloaded: { status: 503, type: 'overloaded_error' },
  provider_timeout: { status: 504, type: 'timeout_error' },
} as const;

export type ErrorCode = keyof typeof ERROR_TABLE;

export interface AppErrorOptions {
  /** Overrides the table's HTTP status where a protocol requires a different one. */
  readonly status?: number;
  /** Seconds until a retry may succeed; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Whether a retry may succeed; derived from status and code by default. */
  readonly shouldRetry?: boolean;
  /** The reason for operators; logged, never sent to the client. */
  readonly cause?: unknown;
}

/** An error whose code and message the client may see. Thrown where the problem is detected, turned into a response in one place. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly retryAfterSeconds: number | undefined;
  /** Value of the `x-should-retry` header; undefined omits it and leaves the decision to the client. */
  readonly shouldRetry: boolean | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    // a message may quote half a character, or end inside one: some clients cannot print that
    super(toUSVString(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? ERROR_TABLE[code].status;
    this.type = ERROR_TABLE[code].type;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.shouldRetry = options.shouldRetry ?? mayHelp(code, this.status);
  }
}

/** Returns whether a retry can succeed. Clients retry some statuses on their own even if it cannot: an unknown key stays unknown. */
function mayHelp(code: ErrorCode, status: number): boolean | undefined {
  if (status === 409) {
    return code === 'idempotency_in_progress';
  }
  if (status >= 500 || status === 429) {
    return status === 500 ? undefined : true;
  }
  return status === 408 ? undefined : false;
}

/** Returns every code with its status and type, for the API description. */
export function errorCodes(): { code: ErrorCode; status: number; type: string }[] {
  return Object.entries(ERROR_TABLE).map(([code, entry]) => ({ code: code as ErrorCode, ...entry }));
}

/** A state that correct code cannot reach. Never shown to a client; always worth a human's look. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws {@link InvariantError} unless the condition holds. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) {
    throw new InvariantError(message);
  }
}
