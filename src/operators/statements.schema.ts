import { z } from 'zod';
import { invoiceJson } from '../billing/invoices.schema.ts';
import { listOf, storableText } from '../http/input/wire-shapes.ts';

export const statementParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the account, acc_…' }),
  month: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be a month, e.g. 2028-05')
    .transform((month) => new Date(`${month}-01T00:00:00Z`))
    .meta({ description: 'A month (UTC) that has ended', examples: ['2028-05'] }),
});

export const reissueBody = z
  .object({
    reason: storableText
      .trim()
      .min(1)
      .max(500)
      .meta({ description: 'Reason; stored with the new statement' }),
  })
  .meta({ id: 'ReissueStatement' });

export const statementJson = invoiceJson
  .extend({
    version: z.int().min(1).meta({ description: 'Above 1: reissued' }),
    reissue_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it was reissued; null for the first version' }),
    reissued_by: z
      .string()
      .nullable()
      .meta({ description: 'Name of the operator token that requested it; null for the first version' }),
    created_at: z.iso.datetime().meta({ description: 'When it was created' }),
    number: z
      .string()
      .nullable()
      .meta({
        description: 'Gapless number on the document; null until it is issued',
        examples: ['ST-000042'],
      }),
    digest: z.string().nullable().meta({ description: 'Digest of all entries up to its last one' }),
    pdf_sha256: z
      .string()
      .nullable()
      .meta({ description: 'SHA-256 of its PDF, lower-case hex; null until it is issued' }),
    csv_sha256: z
      .string()
      .nullable()
      .meta({ description: 'SHA-256 of its CSV, lower-case hex; null until it is issued' }),
  })
  .meta({ id: 'Statement' });

export const statementListResponse = listOf(statementJson, 'Statements of closed months, newest first');

export type StatementJson = z.output<typeof statementJson>;
