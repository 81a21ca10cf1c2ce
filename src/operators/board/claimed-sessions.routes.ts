import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { linkHeader, pageQuery } from '../../http/answers/page.ts';
import { readCookie } from '../../http/callers/credential.ts';
import { answerOf, listOf } from '../../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { AppError } from '../../lib/errors.ts';
import { parsePublicId, publicId } from '../../lib/ids.ts';
import { audited, OPERATOR_ROUTE } from '../operator-access.ts';
import type { ClaimedSession, ClaimedSessions } from './claimed-sessions.store.ts';
import { COOKIES } from './operator-cookies.ts';

const sessionId = z.string().min(1).max(64).meta({ description: 'Id of the session, ses_…' });

const operatorBrowserJson = z
  .object({
    id: z.string().meta({ description: 'Id of the session, ses_…' }),
    operator: z.string().meta({ description: 'The operator, as named in the audit log' }),
    created_at: z.iso.datetime().meta({ description: 'When the operator signed in' }),
    ends_at: z.iso.datetime().meta({ description: 'When the session expires' }),
    user_agent: z.string().meta({ description: 'User agent of the browser' }),
    address: z.string().meta({ description: 'IP address of the sign-in' }),
    current: z.boolean().meta({ description: 'true for the session that makes this request' }),
  })
  .meta({ id: 'OperatorBrowser' });

export type OperatorBrowserJson = z.output<typeof operatorBrowserJson>;

const endedResponse = answerOf(
  z.object({ ended: z.int().min(0).meta({ description: 'How many sessions were ended' }) }),
  'What was ended',
);

/** `/admin/v1/sessions`: browser sessions of operators who signed in with the OpenID provider. */
export function claimedSessionRoutes(sessions: {
  readonly claimed: Pick<ClaimedSessions, 'list' | 'end' | 'isOurs' | 'find'>;
}): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/sessions',
      operationId: 'listOperatorSessions',
      summary: 'List the browser sessions of operators who signed in with the OpenID provider, newest first',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: listOf(operatorBrowserJson, 'Sessions, newest first') },
      errors: ['invalid_cursor'],
      async handle({ query, url, headers }) {
        const [page, current] = await Promise.all([
          sessions.claimed.list(query),
          currentId(sessions.claimed, headers),
        ]);
        const data = page.rows.map((row) => present(row, current));
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'delete',
      path: '/admin/v1/sessions/{id}',
      operationId: 'endOperatorSession',
      summary: 'Sign out an operator’s browser; takes effect within a second',
      params: z.object({ id: sessionId }),
      response: { status: 200, schema: endedResponse },
      errors: ['session_not_found'],
      async handle({ params, operator, requestId }) {
        const id = parsePublicId('browserSession', params.id);
        const act = audited({ operator, requestId }, 'operator.endSession', params.id, {});
        if (id === undefined || !(await sessions.claimed.end(id, act))) {
          throw new AppError('session_not_found', 'There is no such session.');
        }
        return { body: { data: { ended: 1 } } };
      },
    }),
  ];
}

/**
 * Returns the id of the session that makes the request; undefined for token authentication and for sessions opened with a token.
 */
async function currentId(
  claimed: Pick<ClaimedSessions, 'isOurs' | 'find'>,
  headers: IncomingHttpHeaders,
): Promise<string | undefined> {
  const cookie = readCookie(headers, COOKIES.session);
  return cookie !== undefined && claimed.isOurs(cookie) ? (await claimed.find(cookie))?.id : undefined;
}

function present(row: ClaimedSession, currentId: string | undefined): OperatorBrowserJson {
  return {
    id: publicId('browserSession', row.id),
    operator: row.operator,
    created_at: row.created_at.toISOString(),
    ends_at: row.ends_at.toISOString(),
    user_agent: row.user_agent,
    address: row.address,
    current: row.id === currentId,
  };
}
