import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';

export interface OperatorSessionOptions {
  readonly installationSecret: string;
  /** Sessions end when it changes. */
  readonly adminToken: string;
  readonly clock: Clock;
}

/** Seconds a session lasts; then the operator signs in again. */
export const SESSION_SECONDS = 8 * 3_600;
const SESSION_PATTERN = /^(\d{10})\.[\w-]{22}\.([\w-]{43})$/;
const NONCE_BYTES = 16;

/**
 * Sessions of signed-in operators: `<expiry, Unix s>.<nonce>.<HMAC-SHA-256>` under a key made of the installation's secret
 * and the operator's token. Nothing is stored, so every replica accepts them; changing the token ends them all.
 */
export class OperatorSessions {
  readonly #key: Buffer;
  readonly #clock: Clock;

  constructor({ installationSecret, adminToken, clock }: OperatorSessionOptions) {
    const salt = createHash('sha256').update(adminToken).digest();
    this.#key = Buffer.from(hkdfSync('sha256', installationSecret, salt, 'tollgate operator session', 32));
    this.#clock = clock;
  }

  /** A new session, valid for {@link SESSION_SECONDS}. */
  issue(): string {
    const expiresAt = Math.floor(this.#clock.now() / 1_000) + SESSION_SECONDS;
    const unsigned = `${expiresAt}.${this.nonce()}`;
    return `${unsigned}.${this.#sign('session', unsigned)}`;
  }

  /** Whether the text is a session of ours that has not expired. */
  isValid(session: string | undefined): session is string {
    const match = session === undefined ? null : SESSION_PATTERN.exec(session);
    if (!match?.[1] || !match[2] || session === undefined) {
      return false;
    }
    const unsigned = session.slice(0, session.lastIndexOf('.'));
    const genuine = isEqual(this.#sign('session', unsigned), match[2]);
    const now = this.#clock.now() / 1_000;
    // a session from beyond the longest one was made by nobody
    return genuine && Number(match[1]) > now && Number(match[1]) <= now + SESSION_SECONDS;
  }

  /** What a request that changes something has to show beside its cookie: bound to that very cookie. */
  proofFor(cookie: string): string {
    return this.#sign('csrf', cookie);
  }

  isProof(cookie: string, proof: string | undefined): boolean {
    return proof !== undefined && isEqual(this.proofFor(cookie), proof);
  }

  /** Text that nobody can guess. */
  nonce(): string {
    return randomBytes(NONCE_BYTES).toString('base64url');
  }

  #sign(purpose: string, text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }
}

function isEqual(expected: string, given: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(given)];
  return first.length === second.length && timingSafeEqual(first, second);
}
