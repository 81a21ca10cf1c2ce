import { exportable } from '../http/answers/csv-export.ts';
import { decodeCursor, INTEGER_PART } from '../http/answers/cursor.ts';
import { cutPage, linkHeader } from '../http/answers/page.ts';
import { checkOrder } from '../http/input/time-range.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { AuditLogRow } from '../store/models/audit-log.model.ts';
import type { AuditReadModel } from './audit.read-model.ts';
import { type AuditEntryJson, auditListResponse, listAuditQuery } from './audit.schema.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';

/** `/admin/v1/audit`. */
export function auditRoutes(audit: AuditReadModel): Route[] {
  return [
    exportable(
      defineRoute({
        ...OPERATOR_ROUTE,
        method: 'get',
        path: '/admin/v1/audit',
        operationId: 'listAuditEntries',
        summary: 'List operator actions, newest first',
        query: listAuditQuery,
        response: { status: 200, schema: auditListResponse },
        errors: ['invalid_cursor'],
        async handle({ query, url }) {
          const { action = null, object = null, actor = null, limit, cursor } = query;
          const { start_time: start = null, end_time: end = null } = query;
          const [beforeId = null] = cursor === undefined ? [] : decodeCursor(cursor, [INTEGER_PART]);
          checkOrder(query);
          const rows = await audit.list({ action, object, actor, start, end, beforeId, limit: limit + 1 });
          const page = cutPage(rows, limit, (row) => [row.id]);
          return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentAuditEntry) } };
        },
      }),
    ),
  ];
}

function presentAuditEntry(row: AuditLogRow): AuditEntryJson {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: row.actor,
    action: row.action,
    object: row.object,
    request_id: row.request_id,
    detail: { ...row.detail },
  };
}
