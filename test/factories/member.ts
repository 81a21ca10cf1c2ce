import { createHash, randomBytes } from 'node:crypto';
import { csrfProof } from '../../src/http/callers/browser-session.ts';
import type { MemberRole } from '../../src/http/callers/member-role.ts';
import { newOwnedUuid, publicId } from '../../src/lib/ids.ts';
import type { Database } from '../../src/store/database.ts';
import { createKey } from './api-key.ts';

export interface TestMember {
  /** Public id. */
  readonly id: string;
  readonly keyHash: string;
  readonly email: string;
  /** Headers that the member's browser sends with every request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Inserts a member of an account directly into the database, signed in. The same `subject` in two accounts is the same person. */
export async function createMember(
  database: Database,
  accountId: string,
  role: MemberRole,
  subject: string = randomBytes(8).toString('hex'),
): Promise<TestMember> {
  const key = await createKey(database, accountId, { role: 'inference' });
  const id = newOwnedUuid(accountId);
  const email = `${role}-${subject}@example.com`;
  await database.money.query(
    `INSERT INTO members (id, account_id, api_key_id, issuer, subject, email, name, role)
     VALUES ($1, $2, $3, 'https://id.example.com', $4, $5, 'A Person', $6)`,
    [id, accountId, key.id, subject, email, role],
  );
  const token = randomBytes(32).toString('base64url');
  await database.money.query(
    `INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, ends_at)
     VALUES ($1, $2, $3, $4, now() + interval '1 hour')`,
    [newOwnedUuid(accountId), createHash('sha256').update(token).digest('hex'), accountId, key.id],
  );
  const headers = { cookie: `tollgate=${token}`, 'x-csrf-token': csrfProof(token) };
  return { id: publicId('member', id), keyHash: key.hash, email, headers };
}
