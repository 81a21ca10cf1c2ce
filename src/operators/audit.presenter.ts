import type { AuditLogRow } from '../store/models/audit-log.model.ts';
import type { AuditEntryJson } from './audit.schema.ts';

export function presentAuditEntry(row: AuditLogRow): AuditEntryJson {
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
