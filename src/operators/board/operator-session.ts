import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedSessions } from './claimed-sessions.store.ts';

export interface OperatorSessionOptions {
  /** The first signs; what the others signed is still good. */
  readonly installationSecrets: readonly string[];
  /** Everybody who may sign in. A session ends when its operator's token changes. */
  readonly operators: readonly { readonly name: string; readonly token: string }[];
  /** Sessions of those whom the OpenID provider vouches for. */
  readonly claimed: ClaimedSessions;
  readonly clock: Clock;
}

/** Seconds a session lasts; then the operator signs in again. */
export const SESSION_SECONDS = 8 * 3_600;
const SESSION_PATTERN = /^(\d{10})\.[\w-]{22}\.([\w-]{1,64})\.([\w-]{43})$/;
const NONCE_BYTES = 16;

/**
 * Sessions of signed-in operators: `<expiry, Unix s>.<nonce>.<name>.<HMAC-SHA-256>` under a key made of the installation's secret
 * and the operator's token. Nothing is stored, so every replica accepts them; changing a token ends its operator's sessions. Those of
 * operators by claim are stored: see claimed-sessions.store.ts.
 */
export class OperatorSessions {
  readonly claimed: ClaimedSessions;
  readonly #keys: ReadonlyMap<string, readonly Buffer[]>;
  readonly #pageKeys: readonly Buffer[];
  readonly #clock: Clock;

  constructor({ installationSecrets, operators, claimed, clock }: OperatorSessionOptions) {
    this.claimed = claimed;
    const keysFor = (salt: Buffer | string) =>
      installationSecrets.map((secret) => deriveKey(secret, salt, 'tollgate operator session'));
    this.#keys = new Map(
      operators.map(({ name, token }) => [name, keysFor(createHash('sha256').update(token).digest())]),
    );
    this.#pageKeys = installationSecrets.map((secret) => deriveKey(secret, '', 'tollgate operator page'));
    this.#clock = clock;
  }

  /** A new session of an operator, valid for {@link SESSION_SECONDS}. */
  issue(operator: string): string {
    const expiresAt = Math.floor(this.#clock.now() / 1_000) + SESSION_SECONDS;
    const unsigned = `${expiresAt}.${this.nonce()}.${operator}`;
    const [key] = this.#keys.get(operator) ?? [];
    return `${unsigned}.${sign(key, unsigned)}`;
  }

  /** Whose session the text is; undefined when we did not sign it or it has expired. */
  async operatorOf(session: string | undefined): Promise<string | undefined> {
    if (session !== undefined && this.claimed.isOurs(session)) {
      return (await this.claimed.find(session))?.operator;
    }
    const [, expiry, operator = '', signature = ''] = SESSION_PATTERN.exec(session ?? '') ?? [];
    if (session === undefined || expiry === undefined) {
      return undefined;
    }
    const unsigned = session.slice(0, session.lastIndexOf('.'));
    const isGenuine = (this.#keys.get(operator) ?? []).some((key) => isEqual(sign(key, unsigned), signature));
    const now = this.#clock.now() / 1_000;
    // an expiry beyond the maximum lifetime cannot be ours
    const isCurrent = Number(expiry) > now && Number(expiry) <= now + SESSION_SECONDS;
    return isGenuine && isCurrent ? operator : undefined;
  }

  /** When a session that we made ends. */
  async endOf(session: string): Promise<Date> {
    const claimed = this.claimed.isOurs(session) ? await this.claimed.find(session) : undefined;
    return claimed?.ends_at ?? new Date(Number.parseInt(session, 10) * 1_000);
  }

  /** What a request that changes something has to show beside its cookie: bound to that very cookie. */
  proofFor(cookie: string): string {
    return sign(this.#pageKeys[0], cookie);
  }

  isProof(cookie: string, proof: string | undefined): boolean {
    return proof !== undefined && this.#pageKeys.some((key) => isEqual(sign(key, cookie), proof));
  }

  /** A random 128-bit nonce. */
  nonce(): string {
    return randomBytes(NONCE_BYTES).toString('base64url');
  }
}

function deriveKey(secret: string, salt: Buffer | string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}

/** With no key, sign with a random one so that nothing verifies. */
function sign(key: Buffer | undefined, text: string): string {
  return createHmac('sha256', key ?? randomBytes(32))
    .update(text)
    .digest('base64url');
}

function isEqual(expected: string, given: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(given)];
  return first.length === second.length && timingSafeEqual(first, second);
}
