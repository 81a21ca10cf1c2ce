import { z } from 'zod';
import { accountId, listOf } from '../../http/input/wire-shapes.ts';

export const searchQuery = z.strictObject({
  q: z.string().trim().min(2).max(200).meta({
    description:
      "An id (acc_…, gen-…, req_…, txn_…, cs_…, whd_…), a key's hash or label, the payment provider's id, a statement's or receipt's number, or a part of an account's name",
  }),
});

const finding = z
  .strictObject({
    kind: z
      .enum([
        'account',
        'key',
        'generation',
        'transaction',
        'checkout_session',
        'webhook_delivery',
        'statement',
        'receipt',
      ])
      .meta({ description: 'What was found' }),
    id: z.string().meta({ description: 'Its id in the operator API' }),
    account_id: accountId,
    summary: z.string().meta({ description: 'Short description: a name, model, amount or state' }),
  })
  .meta({ id: 'Finding' });

export const searchResponse = listOf(finding, 'Matches, at most 20 in total');

export type Finding = z.output<typeof finding>;
