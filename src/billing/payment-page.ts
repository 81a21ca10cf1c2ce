import { escapeHtml } from '../http/html.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import { PAYMENT_STYLE } from './payment-style.ts';

export type PageNotice = 'declined' | undefined;

/** The test provider's payment page: plain HTML, no script, usable by keyboard and screen reader. */
export function paymentPage(row: CheckoutSessionRow, notice: PageNotice): string {
  const amount = `$${formatUsd(nanoUsd(row.amount))}`;
  if (row.status === 'complete') {
    return frame(
      'Payment received',
      `<p class="amount">${amount}</p><p>The credits are in your account.</p>${link(row.success_url, 'Continue')}`,
    );
  }
  if (row.status === 'expired') {
    return frame(
      'This checkout has expired',
      `<p>Nothing was paid. Start again where you came from.</p>${link(row.cancel_url, 'Go back')}`,
    );
  }
  const base = `/checkout/${escapeHtml(publicId('checkoutSession', row.id))}`;
  const alert =
    notice === 'declined'
      ? '<p class="alert" role="alert">The card was declined. Nothing was paid; you can try again.</p>'
      : '';
  return frame(
    'Buy prepaid credits',
    `${alert}<p class="amount">${amount} <span>USD</span></p>
<dl><div><dt>Prepaid credits</dt><dd>${amount}</dd></div><div class="total"><dt>Total</dt><dd>${amount}</dd></div></dl>
<form method="post" action="${base}"><fieldset><legend>Pay with</legend>
<label><input type="radio" name="card" value="accepted" checked> <span>Test card ending in 4242 <small>is accepted</small></span></label>
<label><input type="radio" name="card" value="declined"> <span>Test card ending in 0002 <small>is declined</small></span></label>
</fieldset><button type="submit">Pay ${amount}</button></form>${link(row.cancel_url, 'Cancel and go back', 'quiet')}`,
  );
}

/** What somebody sees who follows a wrong link. */
export function missingPage(): string {
  return frame('There is no such checkout', '<p>The link may be cut off. Nothing was paid.</p>');
}

function link(url: string, text: string, kind = 'button'): string {
  return `<p><a class="${kind}" href="${escapeHtml(url)}">${escapeHtml(text)}</a></p>`;
}

function frame(title: string, content: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<style>${PAYMENT_STYLE}</style></head><body><p class="banner" role="note"><strong>Test payment.</strong>
No money moves; the credits are real inside this installation.</p>
<main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>`;
}
