import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page, type PageQuery } from '../http/answers/page.ts';
import type { Authenticator } from '../http/callers/authenticator.ts';
import type { BrowserSession, BrowserSessions, PresentedSession } from '../http/callers/browser-session.ts';
import { presentedSession, refuseForeignPage } from '../http/callers/browser-session.ts';
import type { Principal } from '../http/route.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { newOwnedUuid, parsePublicId } from '../lib/ids.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { SessionRow, SessionScope, SessionSummaryRow, SessionsStore } from './sessions.store.ts';

export interface SessionsParts {
  readonly store: SessionsStore;
  readonly authenticator: () => Pick<Authenticator, 'principal' | 'principalOfKey'>;
  readonly clock: Clock;
  /** Whether browsers reach the service over https; decides the name and attributes of the cookie. */
  readonly secure: boolean;
}

export interface SignedIn {
  readonly principal: Principal;
  readonly session: PresentedSession;
}

/** Maximum duration of a session, in hours. */
export const SESSION_HOURS = 12;
/** Maximum number of sessions of a key. A further one ends the oldest: whoever holds a key may sign in as often as they like. */
export const SESSIONS_PER_KEY_MAX = 100;
/** How long a session is cached, in ms: as long as keys, so that an ended session is rejected everywhere within a second. */
const FRESH_MS = 800;
const ENTRIES_MAX = 10_000;
const TOKEN_BYTES = 32;
const TEXT_MAX = 300;

interface Entry {
  readonly session: BrowserSession | undefined;
  readonly freshUntilMs: number;
}

/** Signs browsers in. A browser presents a key once and then sends a cookie, so that the key itself is not kept in the browser. */
export class SessionsService implements BrowserSessions {
  /** With `__Host-`, browsers accept the cookie only over https, for this host alone and for all of its paths. */
  readonly cookieName: string;
  readonly #parts: SessionsParts;
  readonly #entries = new LruMap<string, Entry>(ENTRIES_MAX);

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.cookieName = parts.secure ? '__Host-tollgate' : 'tollgate';
  }

  async find(token: string): Promise<BrowserSession | undefined> {
    const tokenHash = sha256(token);
    const now = this.#parts.clock.now();
    const known = this.#entries.get(tokenHash);
    if (known && known.freshUntilMs > now) {
      return known.session;
    }
    const row = await this.#parts.store.find(tokenHash);
    const session = row && {
      id: row.id,
      accountId: row.account_id,
      keyHash: row.key_hash,
      ...timesOf(row),
    };
    this.#entries.set(tokenHash, { session, freshUntilMs: now + FRESH_MS });
    return session;
  }

  /**
   * Exchanges a key for a session. Throws what authentication throws (wrong keys count against the address), and AppError
   * csrf_rejected for a form on another site.
   */
  async signIn(apiKey: string, headers: IncomingHttpHeaders, address: string): Promise<SignedIn> {
    refuseForeignPage(headers);
    const shown = { authorization: `Bearer ${apiKey.trim()}` };
    const principal = await this.#parts.authenticator().principal(shown, address, true);
    return this.#open(principal, headers, address);
  }

  /**
   * Opens a session for a person who proved their identity without a key: at `provenAt`, or now if that is null. Throws what
   * authentication throws.
   */
  async openFor(
    keyHash: string,
    headers: IncomingHttpHeaders,
    address: string,
    provenAt: Date | null,
  ): Promise<SignedIn> {
    const principal = await this.#parts.authenticator().principalOfKey(keyHash, true);
    return this.#open(principal, headers, address, provenAt);
  }

  /**
   * Continues a sign-in with the key that the person has in another account. The cookie is a new one. Throws AppError session_not_found.
   */
  async move(from: PresentedSession | undefined, keyHash: string): Promise<SignedIn> {
    const principal = await this.#parts.authenticator().principalOfKey(keyHash, true);
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const { accountId, apiKeyId } = principal;
    const moved = { id: newOwnedUuid(accountId), tokenHash: sha256(token), accountId, apiKeyId };
    const row = from && (await this.#parts.store.move(from.id, moved));
    if (!from || !row) {
      throw new AppError('session_not_found', 'Only a signed-in browser can switch to another account.');
    }
    this.#entries.delete(sha256(from.token));
    return { principal, session: { ...timesOf(row), id: row.id, accountId, keyHash, token } };
  }

  async #open(
    principal: Principal,
    headers: IncomingHttpHeaders,
    address: string,
    provenAt: Date | null = null,
  ): Promise<SignedIn> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const { accountId, apiKeyId, keyHash } = principal;
    const row = await this.#parts.store.insert({
      ...{ id: newOwnedUuid(accountId), tokenHash: sha256(token), accountId, apiKeyId, hours: SESSION_HOURS },
      userAgent: (headers['user-agent'] ?? '').slice(0, TEXT_MAX),
      address: address.slice(0, TEXT_MAX),
      most: SESSIONS_PER_KEY_MAX,
      provenAt,
    });
    return { principal, session: { ...timesOf(row), id: row.id, accountId, keyHash, token } };
  }

  /** Returns who is signed in in the requesting browser; undefined for nobody, which is not an error. */
  async current(headers: IncomingHttpHeaders): Promise<SignedIn | undefined> {
    const session = await presentedSession(this, headers, 'get');
    if (!session) {
      return undefined;
    }
    try {
      return {
        principal: await this.#parts.authenticator().principalOfKey(session.keyHash, true),
        session,
      };
    } catch (error) {
      if (error instanceof AppError && error.status === 401) {
        return undefined;
      }
      throw error;
    }
  }

  /** Returns whether an admitted caller would still be admitted now: by the session of the cookie, if there is one, and by the key. */
  async isStillIn({ keyHash }: Principal, token: string | undefined): Promise<boolean> {
    if (token !== undefined && !(await this.find(token))) {
      return false;
    }
    try {
      await this.#parts.authenticator().principalOfKey(keyHash, true);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.status === 401) {
        return false;
      }
      throw error;
    }
  }

  /** Lists sessions, newest first. An owner sees all sessions of the account, everybody else those of their own key. */
  async list(principal: Principal, query: PageQuery): Promise<Page<SessionSummaryRow>> {
    const [beforeId = null] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [UUID_PART]);
    const rows = await this.#parts.store.list(scopeOf(principal), query.limit + 1, beforeId);
    return cutPage(rows, query.limit, (row) => [row.id]);
  }

  /** Signs out one browser. Throws AppError session_not_found. */
  async end(principal: Principal, publicId: string): Promise<void> {
    const id = parsePublicId('browserSession', publicId);
    if (id === undefined || (await this.#delete(scopeOf(principal), id)) === 0) {
      throw new AppError('session_not_found', 'There is no such session.');
    }
  }

  /** Signs out the requesting browser. */
  async endCurrent(session: PresentedSession): Promise<void> {
    await this.#delete({ accountId: session.accountId, keyHash: null }, session.id);
  }

  /** Signs out every browser of the account, or of the key. Returns their number. */
  endAll(principal: Principal): Promise<number> {
    return this.#delete(scopeOf(principal), null);
  }

  /** Returns the `Set-Cookie` header of a session; without a session, the one that deletes the cookie. */
  cookie(session?: PresentedSession): string {
    const seconds = session
      ? Math.max(0, Math.floor((session.endsAtMs - this.#parts.clock.now()) / 1_000))
      : 0;
    const attributes = ['Path=/', `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Strict'];
    const secure = this.#parts.secure ? ['Secure'] : [];
    return [`${this.cookieName}=${session?.token ?? ''}`, ...attributes, ...secure].join('; ');
  }

  async #delete(scope: SessionScope, id: string | null): Promise<number> {
    const hashes = await this.#parts.store.delete(scope, id);
    for (const hash of hashes) {
      this.#entries.delete(hash);
    }
    return hashes.length;
  }
}

function scopeOf({ accountId, role, keyHash, member }: Principal): SessionScope {
  return { accountId, keyHash: (member?.role ?? role) === 'owner' ? null : keyHash };
}

function timesOf(row: Pick<SessionRow, 'created_at' | 'ends_at' | 'proven_at'>) {
  return {
    createdAtMs: row.created_at.getTime(),
    endsAtMs: row.ends_at.getTime(),
    provenAtMs: (row.proven_at ?? row.created_at).getTime(),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
