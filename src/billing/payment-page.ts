import { type Html, type HtmlValue, html } from '../http/answers/html.ts';
import type { HtmlPage } from '../http/answers/html-page.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import { PAYMENT_STYLE } from './payment-style.ts';

export type PageNotice = 'declined' | undefined;

/** The test provider's payment page: plain HTML, no script, usable by keyboard and screen reader. */
export function paymentPage(row: CheckoutSessionRow, notice: PageNotice): HtmlPage {
  if (row.status === 'complete') {
    return testPage('Payment received', [paid(row), link(row.success_url, 'Continue')]);
  }
  if (row.status === 'expired') {
    const content = html`<p>Nothing was paid. Start again where you came from.</p>${link(row.cancel_url, 'Go back')}`;
    return { ...testPage('This checkout has expired', content), status: 410 };
  }
  const amount = amountOf(row);
  const alert = html`<p class="alert" role="alert">The card was declined. Nothing was paid; you can try again.</p>`;
  const form = html`<p class="amount">${amount} <span>USD</span></p>
<dl><div><dt>Prepaid credits</dt><dd>${amount}</dd></div><div class="total"><dt>Total</dt><dd>${amount}</dd></div></dl>
<form method="post" action="/checkout/${publicId('checkoutSession', row.id)}"><fieldset><legend>Pay with</legend>
<label><input type="radio" name="card" value="accepted" checked> <span>Test card ending in 4242 <small>is accepted</small></span></label>
<label><input type="radio" name="card" value="declined"> <span>Test card ending in 0002 <small>is declined</small></span></label>
</fieldset><button type="submit">Pay ${amount}</button></form>${link(row.cancel_url, 'Cancel and go back', 'quiet')}`;
  return {
    ...testPage('Buy prepaid credits', [notice === 'declined' && alert, form]),
    status: notice === 'declined' ? 402 : 200,
    formTargets: [row.success_url, row.cancel_url].map((url) => new URL(url).origin),
  };
}

/**
 * Where a buyer comes back to unless the session names other pages: says how the payment stands. `isCanceled`: the buyer
 * came back without paying.
 */
export function resultPage(row: CheckoutSessionRow, isCanceled: boolean, refreshSeconds: number): HtmlPage {
  if (row.credited_at !== null) {
    return page('Payment received', paid(row));
  }
  if (row.status === 'expired') {
    return page(
      'This checkout has expired',
      html`<p>Nothing was paid. Start a new checkout to buy credits.</p>`,
    );
  }
  if (isCanceled && row.status === 'open') {
    return page(
      'Payment canceled',
      html`<p>Nothing was paid.</p>${row.url !== '' && link(row.url, 'Pay after all')}`,
    );
  }
  return {
    ...page(
      'Confirming your payment',
      html`<p class="amount">${amountOf(row)}</p><p>The payment provider has not confirmed the payment yet. The credits are
added as soon as it does; this page looks again every ${refreshSeconds} seconds.</p>`,
    ),
    refreshSeconds,
  };
}

/** Shown to somebody who follows a wrong link. */
export function missingPage(): HtmlPage {
  const content = html`<p>The link may be cut off. Nothing was paid.</p>`;
  return { ...page('There is no such checkout', content), status: 404 };
}

function amountOf(row: CheckoutSessionRow): string {
  return `$${formatUsd(nanoUsd(row.amount))}`;
}

function paid(row: CheckoutSessionRow): Html {
  return html`<p class="amount">${amountOf(row)}</p><p>The credits are in your account.</p>`;
}

function link(url: string, text: string, kind = 'button'): Html {
  return html`<p><a class="${kind}" href="${url}">${text}</a></p>`;
}

function testPage(title: string, content: HtmlValue): HtmlPage {
  const banner = html`<p class="banner" role="note"><strong>Test payment.</strong>
No money moves; the credits are real inside this installation.</p>`;
  const { body, ...rest } = page(title, content);
  return { ...rest, body: [banner, body] };
}

function page(title: string, content: HtmlValue): HtmlPage {
  return { title, style: PAYMENT_STYLE, body: html`<main><h1>${title}</h1>${content}</main>` };
}
