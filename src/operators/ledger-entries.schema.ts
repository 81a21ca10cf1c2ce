import { z } from 'zod';
import { transactionJson } from '../billing/transactions.schema.ts';
import { pageQuery } from '../http/answers/page.ts';
import { timeParameter } from '../http/input/time-range.ts';
import { accountId, listOf } from '../http/input/wire-shapes.ts';

export const listEntriesQuery = z.strictObject({
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  booked_by: z
    .literal('operators')
    .optional()
    .meta({ description: 'Only entries that operators booked manually' }),
  ...pageQuery,
});

export const ledgerEntryJson = transactionJson
  .extend({
    account_id: accountId,
    seq: z
      .int()
      .min(1)
      .meta({ description: 'Gapless within the account', examples: [42] }),
    actor: z
      .string()
      .nullable()
      .meta({
        description: 'Who booked it; null for usage and for entries of earlier releases',
        examples: [null],
      }),
    request_id: z.string().nullable().meta({ description: 'Request that booked it; null if none did' }),
    payment_id: z
      .string()
      .nullable()
      .meta({
        description: "The payment provider's id of the payment, to match it with payouts",
        examples: [null],
      }),
  })
  .meta({ id: 'LedgerEntry' });

export const entryListResponse = listOf(ledgerEntryJson, 'Entries, by account and time');

export type LedgerEntryJson = z.output<typeof ledgerEntryJson>;
