import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { timeParameter } from '../http/input/time-range.ts';
import { listOf } from '../http/input/wire-shapes.ts';

const filter = z.string().min(1).max(200);

export const listAuditQuery = z.strictObject({
  action: filter.optional().meta({ description: 'Only actions of this kind', examples: ['account.update'] }),
  object: filter.optional().meta({ description: 'Public id of the affected object' }),
  actor: filter.optional().meta({ description: 'Only actions of this operator' }),
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  ...pageQuery,
});

export const auditEntryJson = z
  .object({
    id: z.string().meta({ description: 'Number of the entry' }),
    at: z.iso.datetime().meta({ description: 'When the action happened' }),
    actor: z.string().meta({ description: 'Name of the operator token that was used' }),
    action: z.string().meta({ description: 'The action, e.g. account.update' }),
    object: z.string().meta({ description: 'Public id of the affected object' }),
    request_id: z.string().nullable().meta({ description: 'Request that caused it; null if none did' }),
    detail: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What changed; the fields depend on the action' }),
  })
  .meta({ id: 'AuditEntry' });

export const auditListResponse = listOf(auditEntryJson, 'Operator actions, newest first');

export type AuditEntryJson = z.output<typeof auditEntryJson>;
