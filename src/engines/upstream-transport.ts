import { NotPublicError } from '../lib/ip-address.ts';
import { EngineError, type EngineFailure } from './engine.types.ts';
import { MALFORMED, TIMED_OUT, withWords } from './engine-failures.ts';
import type { UpstreamClocks } from './upstream-clocks.ts';

export type TransportReason = 'unreachable' | 'timeout' | 'interrupted' | 'malformed';

const FAILURES: Readonly<Record<TransportReason, EngineFailure>> = {
  unreachable: {
    code: 'upstream_unreachable',
    message: 'the engine cannot be reached',
    retryable: true,
  },
  timeout: TIMED_OUT,
  interrupted: {
    code: 'upstream_interrupted',
    message: 'the connection to the engine broke',
    retryable: true,
  },
  malformed: MALFORMED,
};

/** System and undici codes of a connection that never came to be: no byte of the request has left. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A call without a usable answer. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly reason: TransportReason;
  /** Whether the upstream may have received the request. */
  readonly sent: boolean;

  constructor(reason: TransportReason, sent: boolean, options?: { cause?: unknown }) {
    super(`upstream ${reason}`, options);
    this.reason = reason;
    this.sent = sent;
  }

  toEngineError(): EngineError {
    const { cause } = this;
    const words = cause instanceof Error ? cause.message || ('code' in cause ? String(cause.code) : '') : '';
    return new EngineError(withWords(FAILURES[this.reason], words), { cause: this });
  }
}

/** What an error thrown by a call really was: our clock, our caller (then its reason), a broken connection; others stay. */
export function explain(error: unknown, clocks: UpstreamClocks, parent: AbortSignal | undefined): unknown {
  if (error instanceof EngineError || error instanceof TransportError) {
    return error;
  }
  switch (clocks.interruption) {
    case 'timeout':
      return new TransportError('timeout', true, { cause: error });
    case 'aborted':
      return parent?.reason ?? error;
    case 'other':
      return new TransportError(...kindOf(error), { cause: error });
  }
}

function kindOf(error: unknown): [TransportReason, boolean] {
  return neverConnected(error) ? ['unreachable', false] : ['interrupted', true];
}

/** Judged by its members: undici wraps system errors, and tries to several addresses come as one error with many. */
function neverConnected(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) {
    return false;
  }
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    return errors.every(neverConnected);
  }
  return error instanceof NotPublicError || (typeof code === 'string' && NEVER_CONNECTED.has(code));
}
