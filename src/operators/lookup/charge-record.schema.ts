import { z } from 'zod';
import { generationJson } from '../../generations/generations.schema.ts';
import { usdString } from '../../http/wire-shapes.ts';
import { ledgerEntryJson } from '../ledger-entries.schema.ts';

export const chargeParams = z.object({
  id: z.string().min(1).max(128),
});

const attempt = z.strictObject({
  provider: z.string().meta({ description: 'Provider or engine' }),
  model: z.string().meta({ description: 'What it calls the model' }),
  outcome: z.string().meta({ description: 'ok, or why it failed' }),
  latency_ms: z.number(),
  cost: usdString.nullable().meta({ description: 'What it bills you, where that is known' }),
  said: z.string().nullable().meta({ description: 'What it said of its failure, without secrets' }),
});

const writeOff = z.strictObject({
  reason: z.string(),
  amount: usdString,
  created_at: z.iso.datetime(),
});

export const chargeRecordJson = generationJson
  .extend({
    account_id: z.string(),
    account_name: z.string(),
    api_key_name: z.string(),
    request_id: z.string(),
    held: usdString.meta({ description: 'The most it could cost, set aside before it ran' }),
    not_charged: usdString.meta({ description: 'What it was worth above its charge' }),
    provider: z.string().nullable(),
    provider_cost: usdString.nullable(),
    attempts: z.array(attempt),
    reported_usage: z
      .record(z.string(), z.number())
      .nullable()
      .meta({ description: 'Tokens by the provider, where they were not believed or exceeded the hold' }),
    counted_usage: z.record(z.string(), z.number()).nullable().meta({ description: 'Tokens by our count' }),
    transactions: z
      .array(ledgerEntryJson)
      .meta({ description: 'Its charge and the refunds of it, oldest first' }),
    write_offs: z.array(writeOff),
  })
  .meta({ id: 'ChargeRecord' });

export const chargeRecordResponse = z.strictObject({ data: chargeRecordJson, request_id: z.string() });

export type ChargeRecordJson = z.output<typeof chargeRecordJson>;
