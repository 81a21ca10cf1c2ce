import { z } from 'zod';
import { generationJson } from '../../generations/generations.schema.ts';
import { accountId, answerOf, requestId, usdString } from '../../http/input/wire-shapes.ts';
import { ledgerEntryJson } from '../ledger-entries.schema.ts';

export const chargeParams = z.object({
  id: z
    .string()
    .min(1)
    .max(128)
    .meta({ description: 'Id of the generation, gen-…, or of the request that made it, req_…' }),
});

const attempt = z.strictObject({
  provider: z.string().meta({ description: 'Provider or engine' }),
  model: z.string().meta({ description: "The provider's or engine's name for the model" }),
  outcome: z.string().meta({ description: 'ok, or why it failed' }),
  latency_ms: z.number().meta({ description: 'Duration' }),
  cost: usdString.nullable().meta({ description: 'What it bills you, if known' }),
  said: z.string().nullable().meta({ description: 'Its error message, without secrets' }),
});

const writeOff = z.strictObject({
  reason: z.string().meta({
    description: 'Why it was written off: above_hold, late_settlement, above_max_cost or provider_failure',
  }),
  amount: usdString.meta({ description: 'USD' }),
  created_at: z.iso.datetime().meta({ description: 'When it was written off' }),
});

export const chargeRecordJson = generationJson
  .extend({
    account_id: accountId,
    account_name: z.string().meta({ description: 'Name of the account' }),
    api_key_name: z.string().meta({ description: 'Name of the key' }),
    request_id: requestId.meta({ description: 'Id of the request that made it' }),
    held: usdString.meta({ description: 'Its maximum cost, held before it ran' }),
    not_charged: usdString.meta({ description: 'What it was worth beyond its charge' }),
    provider: z
      .string()
      .nullable()
      .meta({ description: 'Provider or engine that answered; null if none did' }),
    provider_cost: usdString
      .nullable()
      .meta({ description: 'What the attempts cost you, USD; null if unknown' }),
    attempts: z.array(attempt).meta({ description: 'Attempts at providers or engines, in order' }),
    reported_usage: z.record(z.string(), z.number()).nullable().meta({
      description: 'Tokens reported by the provider, if they were not accepted or exceeded the hold',
    }),
    counted_usage: z.record(z.string(), z.number()).nullable().meta({ description: 'Tokens by our count' }),
    transactions: z.array(ledgerEntryJson).meta({ description: 'Its charge and refunds, oldest first' }),
    write_offs: z.array(writeOff).meta({ description: 'Write-offs of its charge' }),
  })
  .meta({ id: 'ChargeRecord' });

export const chargeRecordResponse = answerOf(
  chargeRecordJson,
  'The generation and everything that explains its charge',
);

export type ChargeRecordJson = z.output<typeof chargeRecordJson>;
