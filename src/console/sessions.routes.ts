import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { KeysService } from '../keys/keys.service.ts';
import { presentSessionMember } from './members.presenter.ts';
import type { MembersService } from './members.service.ts';
import { presentSession, presentSessionSummary } from './sessions.presenter.ts';
import {
  createdSessionResponse,
  createSessionBody,
  currentSessionResponse,
  endedSessionsResponse,
  listSessionsQuery,
  sessionListResponse,
  sessionParams,
} from './sessions.schema.ts';
import { SESSIONS_PER_KEY_MAX, type SessionsService, type SignedIn } from './sessions.service.ts';

type Keys = Pick<KeysService, 'get'>;
const common = { tag: 'Console', envelope: 'data' } as const;

/** `/api/v1/session` and `/api/v1/sessions`: sign browsers in and out, and list them. */
export function sessionRoutes(sessions: SessionsService, keys: Keys, members?: MembersService): Route[] {
  return [...listRoutes(sessions), ...currentRoutes(sessions, keys, members)];
}

/** Presents a session as its own browser sees it. */
export async function present(signedIn: SignedIn, keys: Keys, members: MembersService | undefined) {
  const { accountId, keyHash, member } = signedIn.principal;
  const [{ name }, memberships] = await Promise.all([
    keys.get(accountId, keyHash),
    member && members ? members.memberships(member.id) : [],
  ]);
  return presentSession(signedIn, name, member ? presentSessionMember(member, memberships) : null);
}

/** Returns the headers of the response that creates a session, with its cookie. */
export function cookieOf(sessions: SessionsService, { session }: SignedIn): Record<string, string> {
  return { 'Set-Cookie': sessions.cookie(session), 'Cache-Control': 'no-store' };
}

function currentRoutes(sessions: SessionsService, keys: Keys, members: MembersService | undefined): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'post',
      path: '/api/v1/sessions',
      operationId: 'createSession',
      summary: 'Sign a browser in: exchange a key for a cookie',
      description: `A key has at most ${SESSIONS_PER_KEY_MAX} sessions; a further one ends its oldest.`,
      access: 'public',
      body: createSessionBody,
      response: { status: 201, schema: createdSessionResponse },
      errors: ['invalid_api_key', 'key_disabled', 'key_expired', 'csrf_rejected'],
      async handle({ body, headers, response }) {
        const signedIn = await sessions.signIn(body.api_key, headers, response.req.ip ?? '');
        const data = await present(signedIn, keys, members);
        return { headers: cookieOf(sessions, signedIn), body: { data } };
      },
    }),
    defineRoute({
      ...common,
      method: 'get',
      path: '/api/v1/session',
      operationId: 'getSession',
      summary: 'Get the session of this browser',
      access: 'public',
      response: { status: 200, schema: currentSessionResponse },
      errors: ['csrf_rejected'],
      async handle({ headers }) {
        const signedIn = await sessions.current(headers);
        const data = signedIn ? await present(signedIn, keys, members) : null;
        return { headers: { 'Cache-Control': 'no-store' }, body: { data } };
      },
    }),
    defineRoute({
      ...common,
      method: 'delete',
      path: '/api/v1/session',
      operationId: 'endCurrentSession',
      summary: 'Sign this browser out',
      access: 'inference',
      leastRole: 'viewer',
      response: { status: 200, schema: endedSessionsResponse },
      errors: ['csrf_rejected'],
      async handle({ session }) {
        if (session) {
          await sessions.endCurrent(session);
        }
        return { headers: { 'Set-Cookie': sessions.cookie() }, body: { data: { ended: session ? 1 : 0 } } };
      },
    }),
  ];
}

function listRoutes(sessions: SessionsService): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'delete',
      path: '/api/v1/sessions/{id}',
      operationId: 'endSession',
      summary: 'Sign one browser out',
      access: 'inference',
      leastRole: 'viewer',
      params: sessionParams,
      response: { status: 200, schema: endedSessionsResponse },
      errors: ['session_not_found', 'csrf_rejected'],
      async handle({ principal, params }) {
        await sessions.end(principal, params.id);
        return { body: { data: { ended: 1 } } };
      },
    }),
    defineRoute({
      ...common,
      method: 'get',
      path: '/api/v1/sessions',
      operationId: 'listSessions',
      summary: 'List the browsers that are signed in, newest first; an inference key sees only its own',
      access: 'inference',
      query: listSessionsQuery,
      response: { status: 200, schema: sessionListResponse },
      errors: ['invalid_cursor'],
      async handle({ principal, session, query, url }) {
        const page = await sessions.list(principal, query);
        const data = page.rows.map((row) => presentSessionSummary(row, session?.id));
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
    defineRoute({
      ...common,
      method: 'delete',
      path: '/api/v1/sessions',
      operationId: 'endSessions',
      summary: 'Sign out everywhere; an inference key ends only its own sessions',
      access: 'inference',
      leastRole: 'viewer',
      recentLogin: true,
      response: { status: 200, schema: endedSessionsResponse },
      errors: ['csrf_rejected'],
      async handle({ principal }) {
        return { body: { data: { ended: await sessions.endAll(principal) } } };
      },
    }),
  ];
}
