import { publicId } from '../../lib/ids.ts';
import { formatUsd, nanoUsd } from '../../lib/money.ts';
import type { AgedDebtRow, PaymentMoveRow, PayoutRow, PricePeriodRow } from './book-reports.read-model.ts';
import type { AgedDebtJson, PaymentMoveJson, PayoutJson, PricePeriodJson } from './book-reports.schema.ts';
import type { KindOfCredits } from './credit-kinds.ts';

/** Converts nano-USD as decimal text to USD. */
export function usd(nano: string): string {
  return formatUsd(nanoUsd(nano));
}

export function presentKind({ opening, added, used, closing }: KindOfCredits) {
  return {
    opening: formatUsd(opening),
    added: formatUsd(added),
    used: formatUsd(used),
    closing: formatUsd(closing),
  };
}

export function presentPayout(row: PayoutRow): PayoutJson {
  return {
    provider: row.provider,
    payment_id: row.payment_id,
    checkout_session_id: row.has_session ? publicId('checkoutSession', row.id) : null,
    account_id: publicId('account', row.account_id),
    received: usd(row.received),
    taken_back: usd(row.taken_back),
    given_back: usd(row.given_back),
    net: usd(row.net),
    last_at: row.last_at.toISOString(),
    moves: row.moves.map(presentMove),
  };
}

function presentMove(move: PaymentMoveRow): PaymentMoveJson {
  const { amount, fee, currency } = move;
  return {
    ...move,
    amount: minorUnits(amount, currency),
    fee: minorUnits(fee, currency),
    net: minorUnits(amount - fee, currency),
    created_at: new Date(move.created_at).toISOString(),
    available_at: new Date(move.available_at).toISOString(),
    arrives_at: move.arrives_at === null ? null : new Date(move.arrives_at).toISOString(),
  };
}

/** Formats an amount in the smallest unit of a currency as a decimal: yen have no digits after the point, dinars three. */
function minorUnits(amount: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  const text = String(Math.abs(amount)).padStart(digits + 1, '0');
  const point = text.length - digits;
  const fraction = digits === 0 ? '' : `.${text.slice(point)}`;
  return `${amount < 0 ? '-' : ''}${text.slice(0, point)}${fraction}`;
}

export function presentPrice(row: PricePeriodRow): PricePeriodJson {
  return {
    model: row.model,
    price_version: row.price_version,
    prices: row.pricing,
    starts_at: row.starts_at.toISOString(),
    ends_at: row.ends_at?.toISOString() ?? null,
    changed_by: row.actor,
  };
}

export function presentDebt(row: AgedDebtRow): AgedDebtJson {
  return {
    account_id: publicId('account', row.account_id),
    name: row.name,
    owed: usd(row.owed),
    under_30_days: usd(row.under_30_days),
    under_60_days: usd(row.under_60_days),
    under_90_days: usd(row.under_90_days),
    older: usd(row.older),
    oldest_at: row.oldest_at.toISOString(),
  };
}
