import { CURRENCY } from '../http/input/wire-shapes.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import { invoiceId } from './invoice-id.ts';
import type { InvoiceRow } from './invoices.read-model.ts';
import type { InvoiceJson } from './invoices.schema.ts';

export function presentInvoice(row: InvoiceRow, accountId: string): InvoiceJson {
  const usd = (amount: string): string => formatUsd(nanoUsd(amount));
  return {
    id: invoiceId(accountId, row.period_start, row.version),
    status: row.status,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end.toISOString(),
    currency: CURRENCY,
    opening_balance: usd(row.opening),
    credit_purchase_total: usd(row.purchases),
    usage_charge_total: usd(row.usage),
    refund_total: usd(row.refunds),
    adjustment_total: usd(row.adjustments),
    closing_balance: usd(row.closing),
  };
}
