import { AppError } from '../../lib/errors.ts';

/**
 * Roles of people in an account: a viewer reads, a developer also makes calls and creates keys, an owner also manages money and people.
 */
export const MEMBER_ROLES = ['owner', 'developer', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** A person who signed in as themselves. */
export interface Member {
  /** UUID. */
  readonly id: string;
  readonly role: MemberRole;
  /** Identifies the person in the audit log. */
  readonly email: string;
}

/** The properties of an operation that decide which role it needs; see RouteDefinition. */
interface Judged {
  readonly access: string;
  readonly method: string;
  readonly leastRole?: MemberRole;
  readonly asksOnly?: boolean;
  readonly idempotency?: string;
}

/**
 * Returns the lowest role that an operation needs of a member. Unless the operation says otherwise: viewer to read, developer for what
 * any key may do, owner for what needs an owner key.
 */
export function leastRole({ access, method, leastRole: said, asksOnly }: Judged): MemberRole {
  if (said !== undefined) {
    return said;
  }
  if (method === 'get' || asksOnly) {
    return 'viewer';
  }
  return access === 'owner' ? 'owner' : 'developer';
}

/** Throws AppError insufficient_scope when the member's role is too low. */
export function requireMemberRole(route: Judged, member: Member): void {
  const needed = leastRole(route);
  if (MEMBER_ROLES.indexOf(member.role) > MEMBER_ROLES.indexOf(needed)) {
    throw new AppError(
      'insufficient_scope',
      `this operation needs the role ${needed}; yours is ${member.role}`,
    );
  }
}

/**
 * Returns whether the audit log records that a member uses this operation: true for everything that makes changes. Paid calls are not
 * recorded there, because the log of generations has them under the member's own key.
 */
export function isRecorded({ access, method, asksOnly, idempotency }: Judged): boolean {
  const isPaidCall = access === 'inference' && idempotency === 'replay';
  return method !== 'get' && !asksOnly && !isPaidCall;
}
