import { AppError } from '../../lib/errors.ts';

/** What a person may do in an account: a viewer reads, a developer calls and makes keys, an owner also sees to money and people. */
export const MEMBER_ROLES = ['owner', 'developer', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** A person who has signed in as themselves. */
export interface Member {
  /** UUID. */
  readonly id: string;
  readonly role: MemberRole;
  /** Who the audit log says it was. */
  readonly email: string;
}

/** What of an operation decides; see RouteDefinition. */
interface Judged {
  readonly access: string;
  readonly method: string;
  readonly leastRole?: MemberRole;
  readonly asksOnly?: boolean;
  readonly idempotency?: string;
}

/**
 * The least role that an operation needs of a member: reading is a viewer's, what any key may do a developer's, what needs an owner key an
 * owner's, unless the operation says otherwise.
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

/** Throws AppError insufficient_scope where the caller's role is too small. */
export function requireMemberRole(route: Judged, member: Member): void {
  const needed = leastRole(route);
  if (MEMBER_ROLES.indexOf(member.role) > MEMBER_ROLES.indexOf(needed)) {
    throw new AppError('insufficient_scope', `this needs the role ${needed}; yours is ${member.role}`);
  }
}

/**
 * Whether what a member does by this operation goes into the audit log: all that changes something. Paid calls do not, which the log of
 * generations has under the member's own key.
 */
export function isRecorded({ access, method, asksOnly, idempotency }: Judged): boolean {
  const isPaidCall = access === 'inference' && idempotency === 'replay';
  return method !== 'get' && !asksOnly && !isPaidCall;
}
