import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedSessions } from './claimed-sessions.store.ts';

export interface OperatorSessionOptions {
  /** The first one signs; signatures of the others are still accepted. */
  readonly installationSecrets: readonly string[];
  /** All operators who may sign in with a token. A session ends when its operator's token changes. */
  readonly operators: readonly { readonly name: string; readonly token: string }[];
  /** Sessions of operators who signed in with the OpenID provider. */
  readonly claimed: ClaimedSessions;
  readonly clock: Clock;
}

/** Lifetime of a session in seconds. */
export const SESSION_SECONDS = 8 * 3_600;
const SESSION_PATTERN = /^(\d{10})\.[\w-]{22}\.([\w-]{1,64})\.([\w-]{43})$/;
const NONCE_BYTES = 16;

/**
 * Sessions of signed-in operators: `<expiry, Unix s>.<nonce>.<name>.<HMAC-SHA-256>` under a key derived from the installation's
 * secret and the operator's token. They are not stored, so every replica accepts them, and changing a token ends its operator's
 * sessions. Sessions opened through the OpenID provider are stored: see claimed-sessions.store.ts.
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

  /** Creates a session of an operator, valid for {@link SESSION_SECONDS}. */
  issue(operator: string): string {
    const expiresAt = Math.floor(this.#clock.now() / 1_000) + SESSION_SECONDS;
    const unsigned = `${expiresAt}.${this.nonce()}.${operator}`;
    const [key] = this.#keys.get(operator) ?? [];
    return `${unsigned}.${sign(key, unsigned)}`;
  }

  /** Returns the operator of a session; undefined when the signature is not ours or the session has expired. */
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
    // we never sign an expiry beyond the maximum lifetime
    const isCurrent = Number(expiry) > now && Number(expiry) <= now + SESSION_SECONDS;
    return isGenuine && isCurrent ? operator : undefined;
  }

  /** Returns when a session of ours ends. */
  async endOf(session: string): Promise<Date> {
    const claimed = this.claimed.isOurs(session) ? await this.claimed.find(session) : undefined;
    return claimed?.ends_at ?? new Date(Number.parseInt(session, 10) * 1_000);
  }

  /** Returns the proof that a request with this cookie needs to change something. It is valid for this cookie only. */
  csrfTokenFor(cookie: string): string {
    return sign(this.#pageKeys[0], cookie);
  }

  isProof(cookie: string, proof: string | undefined): boolean {
    return proof !== undefined && this.#pageKeys.some((key) => isEqual(sign(key, cookie), proof));
  }

  /** Returns a random 128-bit nonce. */
  nonce(): string {
    return randomBytes(NONCE_BYTES).toString('base64url');
  }
}

function deriveKey(secret: string, salt: Buffer | string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}

/** Signs a text. Without a key it uses a random one, so that nothing verifies. */
function sign(key: Buffer | undefined, text: string): string {
  return createHmac('sha256', key ?? randomBytes(32))
    .update(text)
    .digest('base64url');
}

function isEqual(expected: string, given: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(given)];
  return first.length === second.length && timingSafeEqual(first, second);
}
