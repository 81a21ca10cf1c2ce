import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { decodeCursor, UUID_PART } from '../../http/answers/cursor.ts';
import { cutPage, type Page, type PageQuery } from '../../http/answers/page.ts';
import type { AuditedAct } from '../../ledger/ledger.types.ts';
import type { Clock } from '../../lib/clock.ts';
import { newUuid } from '../../lib/ids.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { jsonParameter, run } from '../../store/statement.ts';
import {
  deleteOperatorSession,
  findOperatorSession,
  insertOperatorSession,
  listOperatorSessions,
} from './claimed-sessions.sql.ts';

export interface ClaimedSession extends pg.QueryResultRow {
  readonly id: string;
  /** Name of the operator in the audit log. */
  readonly operator: string;
  readonly created_at: Date;
  readonly ends_at: Date;
  readonly user_agent: string;
  readonly address: string;
}

export interface ClaimedSessionsParts {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  /** The claim that makes someone an operator, `groups=tollgate-operators`. Null when none does; then no session is valid. */
  readonly rule: string | null;
}

/** As long as API keys are cached, so that an ended session is rejected everywhere within a second. */
const FRESH_MS = 800;
const ENTRIES_MAX = 1_000;
const TOKEN_BYTES = 32;
const TEXT_MAX = 300;
const TOKEN_PATTERN = /^oidc\.[\w-]{43}$/;

interface Entry {
  readonly session: ClaimedSession | undefined;
  readonly freshUntilMs: number;
}

/**
 * Sessions of operators who signed in with the OpenID provider. Unlike token sessions they are stored, so that each can be ended.
 */
export class ClaimedSessions {
  readonly #parts: ClaimedSessionsParts;
  readonly #entries = new LruMap<string, Entry>(ENTRIES_MAX);

  constructor(parts: ClaimedSessionsParts) {
    this.#parts = parts;
  }

  /** Returns whether a cookie value has the format of these sessions, valid or not. */
  isOurs(cookie: string): boolean {
    return TOKEN_PATTERN.test(cookie);
  }

  /** Creates a session and returns the value of its cookie. Throws Error where no claim makes operators. */
  async issue(operator: string, seconds: number, userAgent: string, address: string): Promise<string> {
    const { pool, rule } = this.#parts;
    if (rule === null) {
      throw new Error('no claim makes operators here');
    }
    const cookie = `oidc.${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const browser = [userAgent.slice(0, TEXT_MAX), address.slice(0, TEXT_MAX)];
    await run(pool, insertOperatorSession, [newUuid(), sha256(cookie), operator, rule, seconds, ...browser]);
    return cookie;
  }

  async find(cookie: string): Promise<ClaimedSession | undefined> {
    const { pool, clock, rule } = this.#parts;
    if (rule === null) {
      return undefined;
    }
    const hash = sha256(cookie);
    const now = clock.now();
    const known = this.#entries.get(hash);
    if (known && known.freshUntilMs > now) {
      return known.session;
    }
    const [session] = await run<ClaimedSession>(pool, findOperatorSession, [hash, rule]);
    this.#entries.set(hash, { session, freshUntilMs: now + FRESH_MS });
    return session;
  }

  /** Lists sessions, newest first. */
  async list({ limit, cursor }: PageQuery): Promise<Page<ClaimedSession>> {
    const { pool, rule } = this.#parts;
    const [beforeId = null] = cursor === undefined ? [] : decodeCursor(cursor, [UUID_PART]);
    const rows = await run<ClaimedSession>(pool, listOperatorSessions, [rule ?? '', beforeId, limit + 1]);
    return cutPage(rows, limit, (row) => [row.id]);
  }

  /** Ends a session by its id (UUID). Returns false when there is none. */
  end(id: string, act: AuditedAct): Promise<boolean> {
    return this.#delete([id, null, jsonParameter(act)]);
  }

  /** Ends the session of a cookie. */
  async signOut(cookie: string): Promise<void> {
    await this.#delete([null, sha256(cookie), '{}']);
  }

  async #delete(which: readonly (string | null)[]): Promise<boolean> {
    const [row] = await run<{ token_hash: string }>(this.#parts.pool, deleteOperatorSession, which);
    if (row) {
      this.#entries.delete(row.token_hash);
    }
    return row !== undefined;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
