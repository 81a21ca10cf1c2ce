import { z } from 'zod';

export const searchQuery = z.strictObject({
  q: z.string().trim().min(2).max(200).meta({
    description:
      "An id (acc_…, gen-…, req_…, txn_…, cs_…, whd_…), a key's hash or label, the payment provider's id, a statement's or receipt's number, or a part of an account's name",
  }),
});

const finding = z
  .strictObject({
    kind: z.enum([
      'account',
      'key',
      'generation',
      'transaction',
      'checkout_session',
      'webhook_delivery',
      'statement',
      'receipt',
    ]),
    id: z.string().meta({ description: 'What the operator API calls it' }),
    account_id: z.string(),
    summary: z.string(),
  })
  .meta({ id: 'Finding' });

export const searchResponse = z.strictObject({ data: z.array(finding), request_id: z.string() });

export type Finding = z.output<typeof finding>;
