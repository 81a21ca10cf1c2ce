import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { presentedSecret } from '../http/callers/credential.ts';
import { FailureLimiter } from '../http/callers/failure-limiter.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';

const FAILURES_PER_MINUTE = 60;

/** Admits only the workers of this installation. */
export interface StorageTokenGuard {
  /** Checks the token. Throws AppError missing_api_key, invalid_api_key, rate_limit_exceeded (too many failures from the address). */
  admit(headers: IncomingHttpHeaders, address: string): void;
}

/** Creates a guard that admits any of the tokens, compared in constant time. */
export function createStorageTokenGuard(tokens: readonly string[], clock: Clock): StorageTokenGuard {
  const digests = tokens.map(digest);
  const failures = new FailureLimiter(FAILURES_PER_MINUTE, clock);
  return {
    admit: (headers, address) => {
      const retryAfterSeconds = failures.retryAfterSeconds(address);
      if (retryAfterSeconds > 0) {
        throw new AppError(
          'rate_limit_exceeded',
          'too many failed authentication attempts from this address',
          {
            retryAfterSeconds,
          },
        );
      }
      const given = digest(presentedSecret(headers));
      if (digests.filter((right) => timingSafeEqual(given, right)).length === 0) {
        failures.recordFailure(address);
        throw new AppError('invalid_api_key', 'the storage token is not valid');
      }
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
