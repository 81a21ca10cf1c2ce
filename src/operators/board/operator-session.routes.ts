import { z } from 'zod';
import { readCookie } from '../../http/callers/credential.ts';
import { answerOf } from '../../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { OPERATOR_ROUTE } from '../operator-access.ts';
import { COOKIES } from './operator-cookies.ts';
import type { OperatorSessions } from './operator-session.ts';

const operatorSessionJson = z
  .object({
    operator: z.string().meta({ description: 'Name of the operator; `operator` for ADMIN_TOKEN' }),
    csrf: z.string().nullable().meta({
      description: 'Send it as x-csrf-token with every change from a browser; null for a caller with a token',
    }),
    ends_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the browser session ends; null for a caller with a token' }),
    links: z
      .object({
        board: z.string().meta({ description: 'Path of the page that shows the queues' }),
        grafana: z.url().nullable().meta({ description: 'Dashboards; null if GRAFANA_URL is not set' }),
      })
      .meta({ description: 'Links to other tools for operators' }),
  })
  .meta({ id: 'OperatorSession' });

/** `/admin/v1/session`. */
export function operatorSessionRoute(
  sessions: Pick<OperatorSessions, 'csrfTokenFor' | 'endOf'>,
  grafanaUrl: string | null,
): Route {
  const links = { board: '/admin/queues', grafana: grafanaUrl };
  return defineRoute({
    ...OPERATOR_ROUTE,
    method: 'get',
    path: '/admin/v1/session',
    operationId: 'getOperatorSession',
    summary: 'Identify the calling operator, and get the CSRF token that a browser sends with changes',
    response: { status: 200, schema: answerOf(operatorSessionJson, 'The calling operator') },
    errors: [],
    async handle({ operator, headers }) {
      const isBrowser = headers.authorization === undefined && headers['x-api-key'] === undefined;
      const session = isBrowser ? readCookie(headers, COOKIES.session) : undefined;
      const browser =
        session === undefined
          ? { csrf: null, ends_at: null }
          : { csrf: sessions.csrfTokenFor(session), ends_at: (await sessions.endOf(session)).toISOString() };
      return { headers: { 'Cache-Control': 'no-store' }, body: { data: { operator, ...browser, links } } };
    },
  });
}
