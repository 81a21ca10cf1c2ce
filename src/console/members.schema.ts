import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { MEMBER_ROLES } from '../http/callers/member-role.ts';
import { accountId, answerOf, listOf } from '../http/input/wire-shapes.ts';

const role = z.enum(MEMBER_ROLES).meta({
  description:
    'A viewer reads, a developer also calls models and creates keys for programs, an owner also manages money and people',
});
const email = z.string().meta({ description: 'E-mail address that the OpenID provider verified' });
const memberId = z.string().meta({ description: 'Id of the member, mem_…' });
const invitationId = z.string().meta({ description: 'Id of the invitation, ivt_…' });

export const memberJson = z
  .object({
    id: memberId,
    email,
    name: z.string().meta({ description: 'Name from the OpenID provider; may be empty' }),
    role,
    key_hash: z
      .string()
      .meta({ description: "Hash of the member's own key, under which reports show what they spent" }),
    disabled: z.boolean().meta({ description: 'true: cannot sign in for now, because that key is disabled' }),
    created_at: z.iso.datetime().meta({ description: 'When they joined' }),
    signed_in_at: z.iso.datetime().meta({ description: 'When they last signed in' }),
    you: z.boolean().meta({ description: 'true for the member who makes this request' }),
  })
  .meta({ id: 'Member' });

export const invitationJson = z
  .object({
    id: invitationId,
    email: z.string().meta({ description: 'Address that the link is valid for' }),
    role,
    invited_by: z.string().meta({ description: 'Member who created the invitation, or `an owner key`' }),
    created_at: z.iso.datetime().meta({ description: 'When it was created' }),
    ends_at: z.iso.datetime().meta({ description: 'When the link stops working: after seven days' }),
  })
  .meta({ id: 'Invitation' });

/** The member in a session, and the other accounts they belong to. */
export const sessionMember = z
  .object({
    id: memberId,
    email,
    name: z.string().meta({ description: 'Name from the OpenID provider; may be empty' }),
    role,
    accounts: z
      .array(z.object({ id: accountId, name: z.string().meta({ description: 'Display name' }), role }))
      .meta({ description: 'Every account that the person belongs to' }),
  })
  .nullable()
  .meta({ description: 'The person who signed in as themselves; null for a sign-in with a key' });

export const changeMemberBody = z.object({ role }).meta({ id: 'ChangeMember' });
export const inviteBody = z
  .object({
    email: z
      .email()
      .max(200)
      .meta({ description: 'The link works only for a person who has this address at the OpenID provider' }),
    role: role.default('developer'),
  })
  .meta({ id: 'Invite' });
export const moveSessionBody = z.object({ account_id: accountId.min(1).max(64) }).meta({ id: 'MoveSession' });

const idOf = (description: string) => z.object({ id: z.string().min(1).max(64).meta({ description }) });
export const memberParams = idOf('Id of the member, mem_…');
export const invitationParams = idOf('Id of the invitation, ivt_…');
export const listMembersQuery = z.strictObject(pageQuery);

export const memberListResponse = listOf(memberJson, 'Members, newest first');
export const memberResponse = answerOf(memberJson, 'The member after the change');
export const invitationListResponse = listOf(invitationJson, 'Open invitations, newest first');
export const invitedResponse = answerOf(invitationJson, 'The new invitation').extend({
  url: z.string().meta({ description: 'The link, good for one use. It is shown only once and not stored' }),
});
export const removedMemberResponse = answerOf(
  z.object({ removed: z.literal(true).meta({ description: 'Always true' }) }),
  'Confirms the removal',
);

export type MemberJson = z.output<typeof memberJson>;
export type InvitationJson = z.output<typeof invitationJson>;
export type SessionMemberJson = z.output<typeof sessionMember>;
