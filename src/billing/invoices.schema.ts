import { z } from 'zod';
import { CLOSED } from '../http/openapi-portable.ts';
import { pageQuery } from '../http/page.ts';
import { timeParameter } from '../http/time-range.ts';
import { CURRENCY, usdString } from '../http/wire-shapes.ts';

const status = z.enum(['draft', 'open', 'paid', 'void', 'uncollectible']);

export const listInvoicesQuery = z.strictObject({
  status: status.optional(),
  period_start: timeParameter.optional().meta({ description: 'Only periods that end after it' }),
  period_end: timeParameter.optional().meta({ description: 'Only periods that begin before it' }),
  ...pageQuery,
});

export const invoiceParams = z.object({
  invoice_id: z
    .string()
    .min(1)
    .max(64)
    .meta({ description: 'With .pdf or .csv: the statement as a document' }),
});

export const invoiceJson = z
  .strictObject({
    id: z.string(),
    status: status.meta({ [CLOSED]: true }),
    period_start: z.iso.datetime(),
    period_end: z.iso.datetime(),
    currency: z.literal(CURRENCY),
    opening_balance: usdString,
    credit_purchase_total: usdString,
    usage_charge_total: usdString.meta({ description: 'Magnitude: subtracted from the balance' }),
    refund_total: usdString,
    adjustment_total: usdString,
    closing_balance: usdString,
  })
  .meta({ id: 'Invoice', [CLOSED]: true });

export const invoiceListResponse = z.strictObject({ data: z.array(invoiceJson), request_id: z.string() });
export const invoiceResponse = z
  .strictObject({
    data: invoiceJson,
    balance_transactions: z
      .array(z.string())
      .optional()
      .meta({ description: 'Absent when there are more than 10,000; the list endpoint has them all' }),
    request_id: z.string(),
  })
  .meta({ [CLOSED]: true });

export type ListInvoicesQuery = z.output<typeof listInvoicesQuery>;
export type InvoiceJson = z.output<typeof invoiceJson>;
