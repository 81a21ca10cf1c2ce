import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { presentedSecret } from '../http/callers/credential.ts';
import { FailureLimiter } from '../http/callers/failure-limiter.ts';
import type { WorkerAuthenticator, WorkerIdentity } from '../http/callers/worker-authenticator.types.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { TokenLookups } from './token-lookups.ts';
import type { WorkerTokensStore } from './worker-tokens.store.ts';

const PREFIX = 'sk-tgw-';
const SECRET_BYTES = 32;
const FORMAT = /^sk-tgw-[A-Za-z0-9_-]{43}$/;
const FAILURES_PER_MINUTE = 60;

/** Creates a secret of 256 random bits. */
export function newWorkerSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** Returns the hash of a secret, which is all that is stored of it. */
export function workerSecretHash(secret: string): string {
  return hash('sha256', secret);
}

/**
 * Authenticates workers by their tokens. Valid tokens are looked up in the database on each call, so a revoked one is rejected from the
 * next call on.
 */
export class TokenWorkerAuthenticator implements WorkerAuthenticator {
  readonly #lookups: TokenLookups;
  readonly #failures: FailureLimiter;

  constructor(tokens: Pick<WorkerTokensStore, 'use'>, clock: Clock) {
    this.#lookups = new TokenLookups(tokens, clock);
    this.#failures = new FailureLimiter(FAILURES_PER_MINUTE, clock);
  }

  async identify(headers: IncomingHttpHeaders, address: string): Promise<WorkerIdentity> {
    const secret = presentedSecret(headers);
    const secretHash = workerSecretHash(secret);
    // A string that cannot be a token costs no database lookup.
    const found = FORMAT.test(secret) ? await this.#lookups.find(secretHash) : undefined;
    if (found) {
      return { tokenId: found.id, tokenHash: secretHash, name: found.name, pools: found.pools };
    }
    const retryAfterSeconds = this.#failures.retryAfterSeconds(address);
    if (retryAfterSeconds > 0) {
      throw new AppError('rate_limit_exceeded', 'too many failed authentication attempts from this address', {
        retryAfterSeconds,
      });
    }
    this.#failures.recordFailure(address);
    throw new AppError('invalid_api_key', 'the worker token is not valid or has been revoked');
  }

  /** Returns whether the token has not been revoked since. */
  async isStillOpen({ tokenHash }: WorkerIdentity): Promise<boolean> {
    return (await this.#lookups.find(tokenHash)) !== undefined;
  }
}
