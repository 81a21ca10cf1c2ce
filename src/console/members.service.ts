import { createHash, randomBytes } from 'node:crypto';
import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page, type PageQuery } from '../http/answers/page.ts';
import type { KeyCache } from '../http/callers/key-cache.ts';
import type { MemberRole } from '../http/callers/member-role.ts';
import type { Principal } from '../http/route.ts';
import { newSecret, secretHash } from '../keys/secret.ts';
import { AppError } from '../lib/errors.ts';
import { newOwnedUuid, parsePublicId, publicId } from '../lib/ids.ts';
import type { InvitationRow, MemberRow, MembersStore } from './members.store.ts';
import type { Identity } from './openid-provider.ts';

export interface MembersParts {
  readonly store: MembersStore;
  readonly keys: KeyCache;
  /** Base URL of the invitation links. */
  readonly publicUrl: string;
}

/** Why a person whom the provider vouches for cannot sign in to any account. */
export type NotAdmitted =
  | 'not_a_member'
  | 'invitation_ended'
  | 'invitation_for_another'
  | 'email_not_verified'
  | 'account_full';

const INVITATION_HOURS = 7 * 24;
const INVITATIONS_MAX = 100;
const TOKEN_BYTES = 32;

/** Manages the members and invitations of accounts, and selects the account that a person signs in to. */
export class MembersService {
  readonly #parts: MembersParts;

  constructor(parts: MembersParts) {
    this.#parts = parts;
  }

  /** Lists members, newest first. */
  async list({ accountId }: Principal, query: PageQuery): Promise<Page<MemberRow>> {
    const rows = await this.#parts.store.list(accountId, query.limit + 1, beforeOf(query));
    return cutPage(rows, query.limit, (row) => [row.id]);
  }

  /** Changes the role of a member; takes effect everywhere within a second. Throws AppError member_not_found. */
  async changeRole({ accountId }: Principal, id: string, role: MemberRole): Promise<MemberRow> {
    const member = parsePublicId('member', id);
    const row = member && (await this.#parts.store.changeRole(accountId, member, role));
    if (!row) {
      throw noSuchMember();
    }
    this.#parts.keys.forget(row.key_hash);
    return row;
  }

  /** Ends a membership; its sessions are rejected everywhere within a second. Throws AppError member_not_found. */
  async remove({ accountId }: Principal, id: string): Promise<void> {
    const member = parsePublicId('member', id);
    const keyHash = member && (await this.#parts.store.remove(accountId, member));
    if (!keyHash) {
      throw noSuchMember();
    }
    this.#parts.keys.forget(keyHash);
  }

  /**
   * Invites an address. The link is returned only by this call. A new invitation to the same address ends the earlier one. Throws
   * AppError too_many_invitations.
   */
  async invite(
    principal: Principal,
    email: string,
    role: MemberRole,
  ): Promise<{ readonly row: InvitationRow; readonly url: string }> {
    const { accountId, member } = principal;
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const row = await this.#parts.store.invite({
      ...{ id: newOwnedUuid(accountId), tokenHash: sha256(token), accountId, role },
      ...{ email: email.toLowerCase(), invitedBy: member?.email ?? 'an owner key' },
      ...{ hours: INVITATION_HOURS, most: INVITATIONS_MAX },
    });
    if (!row) {
      throw new AppError(
        'too_many_invitations',
        `The account has ${INVITATIONS_MAX} open invitations: withdraw some that are not needed.`,
      );
    }
    return { row, url: `${this.#parts.publicUrl}/console/sign-in?invitation=${token}` };
  }

  /** Lists open invitations, newest first. */
  async invitations({ accountId }: Principal, query: PageQuery): Promise<Page<InvitationRow>> {
    const rows = await this.#parts.store.invitations(accountId, query.limit + 1, beforeOf(query));
    return cutPage(rows, query.limit, (row) => [row.id]);
  }

  /** Withdraws an invitation. Throws AppError invitation_not_found. */
  async withdraw({ accountId }: Principal, id: string): Promise<void> {
    const invitation = parsePublicId('invitation', id);
    if (invitation === undefined || !(await this.#parts.store.withdraw(accountId, invitation))) {
      throw new AppError('invitation_not_found', 'There is no such invitation; it may have been used.');
    }
  }

  /** Returns every membership of the person behind a member. */
  memberships(memberId: string): Promise<MemberRow[]> {
    return this.#parts.store.besides(memberId);
  }

  /** Returns the membership, with its key, that the person has in another account. Throws AppError account_not_found. */
  async keyIn(principal: Principal, account: string): Promise<MemberRow> {
    const accountId = parsePublicId('account', account);
    const rows = principal.member ? await this.memberships(principal.member.id) : [];
    const row = rows.find((candidate) => candidate.account_id === accountId && !candidate.disabled);
    if (!row) {
      throw new AppError('account_not_found', 'You are not a member of that account.');
    }
    return row;
  }

  /**
   * Returns the membership that a person signs in to: that of the invitation, otherwise that of the requested account, otherwise the one
   * used last. `wish.invitation` is the secret of the link.
   */
  async admit(
    identity: Identity,
    wish: { readonly invitation?: string | undefined; readonly account?: string | undefined },
    requestId: string,
  ): Promise<MemberRow | NotAdmitted> {
    const joined =
      wish.invitation === undefined ? undefined : await this.#join(identity, wish.invitation, requestId);
    if (typeof joined === 'string') {
      return joined;
    }
    const rows = await this.#parts.store.ofPerson(identity.issuer, identity.subject);
    const open = rows.filter(({ disabled }) => !disabled);
    const wished = joined?.accountId ?? (wish.account && parsePublicId('account', wish.account));
    const row = open.find(({ account_id: id }) => id === wished) ?? open[0];
    if (!row) {
      return 'not_a_member';
    }
    await this.#parts.store.noteSignIn(row, identity.email || row.email, identity.name || row.name);
    this.#parts.keys.forget(row.key_hash);
    return row;
  }

  async #join(
    identity: Identity,
    token: string,
    requestId: string,
  ): Promise<{ readonly accountId: string } | NotAdmitted> {
    const { store } = this.#parts;
    const invitation = await store.invitationOf(sha256(token));
    if (!invitation) {
      return 'invitation_ended';
    }
    if (identity.email === '') {
      return 'email_not_verified';
    }
    if (identity.email !== invitation.email) {
      return 'invitation_for_another';
    }
    const { account_id: accountId } = invitation;
    const id = newOwnedUuid(accountId);
    const act = {
      ...{ actor: identity.email, request_id: requestId, action: 'member.join' },
      ...{ object: publicId('account', accountId), detail: { member: publicId('member', id) } },
    };
    const { issuer, subject, email, name } = identity;
    const joined = await store.join(
      invitation,
      { id, issuer, subject, email, name },
      personalKey(accountId, email),
      act,
    );
    if (joined === undefined) {
      return (await store.invitationOf(sha256(token))) ? 'account_full' : 'invitation_ended';
    }
    return { accountId };
  }
}

/** Returns a key whose secret is discarded at once. By itself it could only make calls; what it may do depends on the member's role. */
function personalKey(accountId: string, email: string): Record<string, string> {
  const hash = secretHash(newSecret(accountId)) ?? '';
  return {
    id: newOwnedUuid(accountId),
    hash,
    name: email.slice(0, 200),
    label: email.slice(0, 200),
    role: 'inference',
  };
}

function beforeOf({ cursor }: PageQuery): string | null {
  const [beforeId = null] = cursor === undefined ? [] : decodeCursor(cursor, [UUID_PART]);
  return beforeId;
}

function noSuchMember(): AppError {
  return new AppError('member_not_found', 'There is no such member.');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
