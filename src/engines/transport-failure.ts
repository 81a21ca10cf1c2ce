import { TransportError, type TransportReason } from '../upstream/transport-error.ts';
import { EngineError, type EngineFailure } from './engine.types.ts';
import { MALFORMED, TIMED_OUT, UNREACHABLE, withUpstreamMessage } from './engine-failures.ts';

const FAILURES: Readonly<Record<TransportReason, EngineFailure>> = {
  unreachable: UNREACHABLE,
  timeout: TIMED_OUT,
  interrupted: {
    code: 'upstream_interrupted',
    message: 'the connection to the engine broke',
    retryable: true,
  },
  too_long: MALFORMED,
};

/** Converts a TransportError into an EngineError. Returns other errors unchanged. */
export function toEngineError(error: unknown): unknown {
  return error instanceof TransportError
    ? new EngineError(withUpstreamMessage(FAILURES[error.reason], error.words), { cause: error })
    : error;
}
