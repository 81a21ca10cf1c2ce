import { defineRoute, type Route } from '../http/route.ts';
import type { KeysService } from '../keys/keys.service.ts';
import { moveSessionBody } from './members.schema.ts';
import type { MembersService } from './members.service.ts';
import { cookieOf, present } from './sessions.routes.ts';
import { createdSessionResponse } from './sessions.schema.ts';
import type { SessionsService } from './sessions.service.ts';

/** `/api/v1/session/account`. Exists only where people sign in as themselves. */
export function moveSessionRoute(
  sessions: SessionsService,
  keys: Pick<KeysService, 'get'>,
  members: MembersService,
): Route {
  return defineRoute({
    tag: 'Console',
    envelope: 'data',
    method: 'post',
    path: '/api/v1/session/account',
    operationId: 'moveSession',
    summary: 'Switch to another account that the signed-in person belongs to',
    access: 'inference',
    leastRole: 'viewer',
    body: moveSessionBody,
    response: { status: 200, schema: createdSessionResponse },
    errors: ['account_not_found', 'csrf_rejected'],
    async handle({ principal, session, body }) {
      const { key_hash: keyHash } = await members.keyIn(principal, body.account_id);
      const signedIn = await sessions.move(session, keyHash);
      return {
        headers: cookieOf(sessions, signedIn),
        body: { data: await present(signedIn, keys, members) },
      };
    },
  });
}
