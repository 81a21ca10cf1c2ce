import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Principal } from '../route.ts';
import { presentedSecret } from './credential.ts';
import { FailureLimiter } from './failure-limiter.ts';
import type { KeyCache, KeyFacts } from './key-cache.ts';

export interface AuthenticatorOptions {
  /** Returns the hash of a well-formed secret; undefined for text that cannot be a key. Must do no I/O. */
  readonly digest: (secret: string) => string | undefined;
  readonly keys: KeyCache;
  readonly clock: Clock;
  /** The operators and their tokens. */
  readonly operators: readonly { readonly name: string; readonly token: string }[];
  /** Whether people can sign in as members here; if not, no session of a member is valid. */
  readonly members?: boolean;
  /** Failed authentications allowed per client address and minute. Default 120. */
  readonly failuresPerMinute?: number;
}

const FAILURES_PER_MINUTE = 120;

/** Identifies callers. Rejects every bad credential. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #failures: FailureLimiter;
  readonly #operators: readonly { readonly name: string; readonly digest: Buffer }[];

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#failures = new FailureLimiter(options.failuresPerMinute ?? FAILURES_PER_MINUTE, options.clock);
    this.#operators = options.operators.map(({ name, token }) => ({ name, digest: sha256(token) }));
  }

  /**
   * Returns the principal of a request's key. Throws AppError missing_api_key, invalid_api_key, key_disabled, key_expired,
   * account_suspended (unless `readOnly`), rate_limit_exceeded (too many failures from the address).
   */
  async principal(headers: IncomingHttpHeaders, address: string, readOnly: boolean): Promise<Principal> {
    try {
      const hash = this.#hash(presentedSecret(headers), address);
      return this.#admit(await this.#options.keys.find(hash), readOnly);
    } catch (error) {
      this.#count(error, address);
      throw error;
    }
  }

  /** Returns the account of a key seen before; null for what is not or cannot be a key; undefined for a key not seen yet. Does no I/O. */
  known(headers: IncomingHttpHeaders): string | null | undefined {
    const hash = this.#presentedHash(headers);
    return hash === undefined ? null : this.#options.keys.accountSeen(hash);
  }

  /** Looks up an unseen key, so that `known` finds it. Never rejects: {@link principal} reports what is wrong with the key. */
  async introduce(headers: IncomingHttpHeaders): Promise<void> {
    const hash = this.#presentedHash(headers);
    if (hash !== undefined) {
      await this.#options.keys.find(hash).catch(() => undefined);
    }
  }

  #presentedHash(headers: IncomingHttpHeaders): string | undefined {
    try {
      return this.#options.digest(presentedSecret(headers));
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the principal of a key that was shown before, by its hash. Throws AppError invalid_api_key, key_disabled, key_expired,
   * account_suspended (unless `readOnly`).
   */
  async principalOfKey(hash: string, readOnly: boolean): Promise<Principal> {
    return this.#admit(await this.#options.keys.find(hash), readOnly);
  }

  /**
   * Returns the name of the operator who owns the token. Compares every token, in constant time, before failures of the address count, so
   * the right token always passes. Throws AppError missing_api_key, invalid_api_key, rate_limit_exceeded.
   */
  operator(headers: IncomingHttpHeaders, address: string): string {
    try {
      const digest = sha256(presentedSecret(headers));
      const [found] = this.#operators.filter((operator) => timingSafeEqual(digest, operator.digest));
      if (!found) {
        this.#refuseFlood(address);
        throw new AppError('invalid_api_key', 'the operator token is not valid');
      }
      return found.name;
    } catch (error) {
      this.#count(error, address);
      throw error;
    }
  }

  #hash(secret: string, address: string): string {
    const hash = this.#options.digest(secret);
    // only text that cannot be a key is rejected by address: many clients can share one, and behind a proxy all of them do
    if (hash === undefined) {
      this.#refuseFlood(address);
      throw new AppError(
        'invalid_api_key',
        'the API key is not valid: it is mistyped, cut off or from another service',
      );
    }
    return hash;
  }

  #admit(facts: KeyFacts | undefined, readOnly: boolean): Principal {
    if (!facts || (facts.principal.member && !this.#options.members)) {
      throw new AppError('invalid_api_key', 'the API key is not valid');
    }
    if (facts.disabled) {
      throw new AppError('key_disabled', 'the API key is disabled');
    }
    if (facts.expiresAtMs !== null && facts.expiresAtMs <= this.#options.clock.now()) {
      throw new AppError('key_expired', 'the API key has expired');
    }
    if (facts.suspended && !readOnly) {
      throw new AppError('account_suspended', 'the account is suspended');
    }
    return facts.principal;
  }

  #refuseFlood(address: string): void {
    const retryAfterSeconds = this.#failures.retryAfterSeconds(address);
    if (retryAfterSeconds > 0) {
      throw new AppError('rate_limit_exceeded', 'too many failed authentication attempts from this address', {
        retryAfterSeconds,
      });
    }
  }

  #count(error: unknown, address: string): void {
    if (error instanceof AppError && error.status === 401 && error.code !== 'missing_api_key') {
      this.#failures.recordFailure(address);
    }
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
