import type { Member } from '../http/callers/member-role.ts';
import { publicId } from '../lib/ids.ts';
import type { InvitationJson, MemberJson, SessionMemberJson } from './members.schema.ts';
import type { InvitationRow, MemberRow } from './members.store.ts';

export function presentMember(row: MemberRow, asking: Member | undefined): MemberJson {
  return {
    id: publicId('member', row.id),
    email: row.email,
    name: row.name,
    role: row.role,
    key_hash: row.key_hash,
    disabled: row.disabled,
    created_at: row.created_at.toISOString(),
    signed_in_at: row.signed_in_at.toISOString(),
    you: row.id === asking?.id,
  };
}

export function presentInvitation(row: InvitationRow): InvitationJson {
  return {
    id: publicId('invitation', row.id),
    email: row.email,
    role: row.role,
    invited_by: row.invited_by,
    created_at: row.created_at.toISOString(),
    ends_at: row.ends_at.toISOString(),
  };
}

/** `rows` are all memberships of the person. */
export function presentSessionMember(
  { id, email, role }: Member,
  rows: readonly MemberRow[],
): SessionMemberJson {
  const own = rows.find((row) => row.id === id);
  return {
    id: publicId('member', id),
    email,
    name: own?.name ?? '',
    role,
    accounts: rows
      .filter(({ disabled }) => !disabled)
      .map((row) => ({
        id: publicId('account', row.account_id),
        name: row.account_name,
        role: row.role,
      })),
  };
}
