import { NotPublicError } from '../lib/ip-address.ts';

/** Why a call has no complete response. */
export type TransportReason = 'unreachable' | 'timeout' | 'interrupted' | 'too_long';

interface TransportDetails {
  /** Whether the other side may have received the request. */
  readonly sent: boolean;
  readonly cause?: unknown;
}

/** A call without a complete response. Contains nothing that the other side sent. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly reason: TransportReason;
  readonly sent: boolean;
  /** Error code of the system or of undici, e.g. `ECONNREFUSED`. Empty when there is none. */
  readonly code: string;

  constructor(reason: TransportReason, { sent, cause }: TransportDetails) {
    super(`the call is ${reason}`, { cause });
    this.reason = reason;
    this.sent = sent;
    this.code = codeOf(cause);
  }

  /** First line of the system error. It can never contain a prompt. */
  get words(): string {
    const { message = '' } = (this.cause ?? {}) as { readonly message?: unknown };
    return String(message).split('\n', 1)[0] || this.code;
  }
}

/** Codes of errors that occur before a connection carries data: name resolution, address, handshake. */
const NEVER_CONNECTED =
  /^(?:UND_ERR_CONNECT_TIMEOUT|ENOTFOUND|EAI_\w+|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|UNABLE_TO_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+)$/;

/** Classifies an error of a socket or of undici. */
export function transportErrorOf(error: unknown): TransportError {
  if (error instanceof TransportError) {
    return error;
  }
  return hasNeverConnected(error)
    ? new TransportError('unreachable', { sent: false, cause: error })
    : new TransportError('interrupted', { sent: true, cause: error });
}

/**
 * Checks properties instead of classes: undici wraps system errors, and attempts to several addresses fail with one error that contains
 * many.
 */
function hasNeverConnected(error: unknown): boolean {
  const { errors } = (error ?? {}) as { readonly errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    return errors.every(hasNeverConnected);
  }
  return error instanceof NotPublicError || NEVER_CONNECTED.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}
