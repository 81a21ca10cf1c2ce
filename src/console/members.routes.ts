import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { presentInvitation, presentMember } from './members.presenter.ts';
import {
  changeMemberBody,
  invitationListResponse,
  invitationParams,
  inviteBody,
  invitedResponse,
  listMembersQuery,
  memberListResponse,
  memberParams,
  memberResponse,
  removedMemberResponse,
} from './members.schema.ts';
import type { MembersService } from './members.service.ts';

const common = { tag: 'Console', access: 'owner', envelope: 'data' } as const;

/**
 * `/api/v1/members` and `/api/v1/invitations`: the people who may sign in as themselves. Exist only with an OpenID provider configured.
 */
export function memberRoutes(members: MembersService): Route[] {
  return [...peopleRoutes(members), ...invitationRoutes(members)];
}

function peopleRoutes(members: MembersService): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'get',
      path: '/api/v1/members',
      operationId: 'listMembers',
      summary: 'List the people who may sign in to the account, newest first',
      query: listMembersQuery,
      response: { status: 200, schema: memberListResponse },
      errors: ['invalid_cursor'],
      async handle({ principal, query, url }) {
        const page = await members.list(principal, query);
        const data = page.rows.map((row) => presentMember(row, principal.member));
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
    defineRoute({
      ...common,
      method: 'patch',
      path: '/api/v1/members/{id}',
      operationId: 'changeMember',
      summary: 'Change the role of a member; takes effect within a second',
      recentLogin: true,
      params: memberParams,
      body: changeMemberBody,
      response: { status: 200, schema: memberResponse },
      errors: ['member_not_found'],
      async handle({ principal, params, body }) {
        const row = await members.changeRole(principal, params.id, body.role);
        return { body: { data: presentMember(row, principal.member) } };
      },
    }),
    defineRoute({
      ...common,
      method: 'delete',
      path: '/api/v1/members/{id}',
      operationId: 'removeMember',
      summary: 'Remove a member; their sessions end at once, and what they spent stays in the reports',
      recentLogin: true,
      params: memberParams,
      response: { status: 200, schema: removedMemberResponse },
      errors: ['member_not_found'],
      async handle({ principal, params }) {
        await members.remove(principal, params.id);
        return { body: { data: { removed: true } } };
      },
    }),
  ];
}

function invitationRoutes(members: MembersService): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'post',
      path: '/api/v1/invitations',
      operationId: 'invite',
      summary: 'Invite a person by e-mail address; the link to pass on is in this answer only',
      recentLogin: true,
      body: inviteBody,
      response: { status: 201, schema: invitedResponse },
      errors: ['idempotency_in_progress', 'idempotency_key_reused', 'too_many_invitations'],
      idempotency: 'replay',
      async handle({ principal, body }) {
        const { row, url } = await members.invite(principal, body.email, body.role);
        const headers = { 'Cache-Control': 'no-store' };
        return { headers, body: { data: presentInvitation(row), url } };
      },
    }),
    defineRoute({
      ...common,
      method: 'get',
      path: '/api/v1/invitations',
      operationId: 'listInvitations',
      summary: 'List the invitations that can still be used, newest first',
      query: listMembersQuery,
      response: { status: 200, schema: invitationListResponse },
      errors: ['invalid_cursor'],
      async handle({ principal, query, url }) {
        const page = await members.invitations(principal, query);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentInvitation) } };
      },
    }),
    defineRoute({
      ...common,
      method: 'delete',
      path: '/api/v1/invitations/{id}',
      operationId: 'withdrawInvitation',
      summary: 'Withdraw an invitation; its link stops working at once',
      params: invitationParams,
      response: { status: 200, schema: removedMemberResponse },
      errors: ['invitation_not_found'],
      async handle({ principal, params }) {
        await members.withdraw(principal, params.id);
        return { body: { data: { removed: true } } };
      },
    }),
  ];
}
