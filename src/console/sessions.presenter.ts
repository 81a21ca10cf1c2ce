import { csrfProof } from '../http/callers/browser-session.ts';
import { publicId } from '../lib/ids.ts';
import type { SessionMemberJson } from './members.schema.ts';
import type { SessionJson, SessionSummaryJson } from './sessions.schema.ts';
import type { SignedIn } from './sessions.service.ts';
import type { SessionSummaryRow } from './sessions.store.ts';

export function presentSession(
  { principal, session }: SignedIn,
  keyName: string,
  member: SessionMemberJson,
): SessionJson {
  return {
    id: publicId('browserSession', session.id),
    account: { id: publicId('account', principal.accountId), name: principal.accountName },
    key: { hash: principal.keyHash, name: keyName, role: principal.role },
    member,
    csrf: csrfProof(session.token),
    created_at: new Date(session.createdAtMs).toISOString(),
    ends_at: new Date(session.endsAtMs).toISOString(),
  };
}

export function presentSessionSummary(
  row: SessionSummaryRow,
  currentId: string | undefined,
): SessionSummaryJson {
  return {
    id: publicId('browserSession', row.id),
    key: { hash: row.key_hash, name: row.key_name },
    created_at: row.created_at.toISOString(),
    seen_at: row.seen_at.toISOString(),
    ends_at: row.ends_at.toISOString(),
    user_agent: row.user_agent,
    address: row.address,
    current: row.id === currentId,
  };
}
