import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { timeParameter } from '../http/input/time-range.ts';
import { currencyJson, listOf, requestId, usdString } from '../http/input/wire-shapes.ts';
import { CLOSED } from '../http/openapi/openapi-portable.ts';

const status = z.enum(['draft', 'open', 'paid', 'void', 'uncollectible']);

export const listInvoicesQuery = z.strictObject({
  status: status.optional().meta({ description: 'Only statements with this status' }),
  period_start: timeParameter.optional().meta({ description: 'Only periods that end after it' }),
  period_end: timeParameter.optional().meta({ description: 'Only periods that begin before it' }),
  ...pageQuery,
});

export const invoiceParams = z.object({
  invoice_id: z.string().min(1).max(64).meta({
    description: 'Id of the statement, inv_…; with the suffix .pdf or .csv, the statement as a document',
  }),
});

export const invoiceJson = z
  .strictObject({
    id: z.string().meta({ description: 'Id of the statement, inv_…' }),
    status: status.meta({
      [CLOSED]: true,
      description:
        'draft: the month is still running; open: the month is over and being checked; paid: confirmed by the ledger; void: replaced by a later version; uncollectible: written off',
    }),
    period_start: z.iso.datetime().meta({ description: 'First instant of the month, UTC' }),
    period_end: z.iso.datetime().meta({ description: 'First instant of the next month, UTC' }),
    currency: currencyJson,
    opening_balance: usdString.meta({ description: 'Balance at the start of the period, USD' }),
    credit_purchase_total: usdString.meta({ description: 'Credits bought' }),
    usage_charge_total: usdString.meta({ description: 'Unsigned: subtracted from the balance' }),
    refund_total: usdString.meta({ description: 'Signed: usage refunded minus purchases reversed' }),
    adjustment_total: usdString.meta({ description: 'Signed: what the operator booked manually' }),
    closing_balance: usdString.meta({
      description:
        'opening_balance + credit_purchase_total − usage_charge_total + refund_total + adjustment_total',
    }),
  })
  .meta({ id: 'Invoice', [CLOSED]: true });

export const invoiceListResponse = listOf(invoiceJson, 'Statements, newest first');
export const invoiceResponse = z
  .strictObject({
    data: invoiceJson.meta({ description: 'The statement' }),
    balance_transactions: z.array(z.string()).optional().meta({
      description:
        'Ids of its entries; absent when there are more than 10,000: the list endpoint returns all of them',
    }),
    request_id: requestId,
  })
  .meta({ [CLOSED]: true });

export type ListInvoicesQuery = z.output<typeof listInvoicesQuery>;
export type InvoiceJson = z.output<typeof invoiceJson>;
