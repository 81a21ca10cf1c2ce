import { CURRENCY } from '../http/input/wire-shapes.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CheckoutJson } from './checkout.schema.ts';

export function presentCheckout(row: CheckoutSessionRow): CheckoutJson {
  return {
    id: publicId('checkoutSession', row.id),
    url: row.url,
    status: row.status,
    payment_status: row.payment_status,
    amount_total: formatUsd(nanoUsd(row.amount)),
    currency: CURRENCY,
  };
}
