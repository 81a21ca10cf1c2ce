import { z } from 'zod';
import { pageQuery } from '../http/page.ts';

const filter = z.string().min(1).max(200);

export const listAuditQuery = z.strictObject({
  action: filter.optional().meta({ examples: ['account.update'] }),
  object: filter.optional().meta({ description: 'Public id of what was acted on' }),
  ...pageQuery,
});

export const auditEntryJson = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.string(),
    object: z.string(),
    request_id: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });

export const auditListResponse = z.strictObject({ data: z.array(auditEntryJson), request_id: z.string() });

export type AuditEntryJson = z.output<typeof auditEntryJson>;
