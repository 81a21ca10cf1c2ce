import type pg from 'pg';
import type { MemberRole } from '../http/callers/member-role.ts';
import { type Cells, inAll } from '../store/cells.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  changeMemberRole,
  deleteInvitation,
  findInvitation,
  insertInvitation,
  joinAccount,
  listInvitations,
  listMembers,
  membershipsBesides,
  membershipsOfPerson,
  noteMemberSignIn,
  removeMember,
} from './members.sql.ts';

export interface MemberRow extends pg.QueryResultRow {
  readonly id: string;
  readonly account_id: string;
  readonly account_name: string;
  readonly key_hash: string;
  /** Locked out for now, because the key is disabled or has expired. */
  readonly disabled: boolean;
  readonly email: string;
  readonly name: string;
  readonly role: MemberRole;
  readonly created_at: Date;
  readonly signed_in_at: Date;
}

export interface InvitationRow extends pg.QueryResultRow {
  readonly id: string;
  readonly account_id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly invited_by: string;
  readonly created_at: Date;
  readonly ends_at: Date;
}

export interface NewInvitation {
  readonly id: string;
  readonly tokenHash: string;
  readonly accountId: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly invitedBy: string;
  /** Lifetime in hours. */
  readonly hours: number;
  /** Maximum number of open invitations per account. */
  readonly most: number;
}

/** Maximum number of accounts that one person can choose from. */
const MEMBERSHIPS_MAX = 100;

/** Stores the people who sign in as themselves, and invitations. A person whose key was deleted is no longer a member. */
export class MembersStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Lists members, newest first. */
  list(accountId: string, limit: number, beforeId: string | null): Promise<MemberRow[]> {
    return run<MemberRow>(this.#cells.of(accountId).money, listMembers, [accountId, beforeId, limit]);
  }

  /** Lists the memberships of a person, last used first. */
  ofPerson(issuer: string, subject: string): Promise<MemberRow[]> {
    return run<MemberRow>(this.#cells.sole.money, membershipsOfPerson, [issuer, subject, MEMBERSHIPS_MAX]);
  }

  /** Lists the memberships of the person behind a member, by the name of the account. */
  besides(memberId: string): Promise<MemberRow[]> {
    return run<MemberRow>(this.#cells.sole.money, membershipsBesides, [memberId, MEMBERSHIPS_MAX]);
  }

  async changeRole(accountId: string, id: string, role: MemberRole): Promise<MemberRow | undefined> {
    return (
      await run<MemberRow>(this.#cells.of(accountId).money, changeMemberRole, [accountId, id, role])
    )[0];
  }

  /** Ends a membership with its key and its sessions. Returns the hash of the key. */
  async remove(accountId: string, id: string): Promise<string | undefined> {
    return (
      await run<{ key_hash: string }>(this.#cells.of(accountId).money, removeMember, [accountId, id])
    )[0]?.key_hash;
  }

  async noteSignIn({ id, account_id: accountId }: MemberRow, email: string, name: string): Promise<void> {
    await run(this.#cells.of(accountId).money, noteMemberSignIn, [id, email, name]);
  }

  /** Returns undefined when the account has its maximum number of invitations. */
  async invite(invitation: NewInvitation): Promise<InvitationRow | undefined> {
    const { id, tokenHash, accountId, email, role, invitedBy, hours, most } = invitation;
    const values = [id, tokenHash, accountId, email, role, invitedBy, hours, most];
    return (await run<InvitationRow>(this.#cells.of(accountId).money, insertInvitation, values))[0];
  }

  /** Lists invitations, newest first, without ended ones. */
  invitations(accountId: string, limit: number, beforeId: string | null): Promise<InvitationRow[]> {
    return run<InvitationRow>(this.#cells.of(accountId).money, listInvitations, [accountId, beforeId, limit]);
  }

  async invitationOf(tokenHash: string): Promise<InvitationRow | undefined> {
    const found = await inAll(this.#cells, ({ money }) =>
      run<InvitationRow>(money, findInvitation, [tokenHash]),
    );
    return found[0];
  }

  async withdraw(accountId: string, id: string): Promise<boolean> {
    return (await run(this.#cells.of(accountId).money, deleteInvitation, [accountId, id])).length > 0;
  }

  /** Uses up an invitation. Returns undefined when it has ended or the account has its maximum number of keys. */
  async join(
    invitation: InvitationRow,
    person: Readonly<Record<string, string>>,
    key: Readonly<Record<string, string>>,
    act: object,
  ): Promise<string | undefined> {
    const values = [
      invitation.account_id,
      invitation.id,
      ...[person, key, act].map((part) => jsonParameter(part)),
    ];
    return (await run<{ id: string }>(this.#cells.of(invitation.account_id).money, joinAccount, values))[0]
      ?.id;
  }
}
