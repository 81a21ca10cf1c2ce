import { type Html, type HtmlValue, html } from '../http/answers/html.ts';
import type { HtmlPage } from '../http/answers/html-page.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';

const STYLE = `
.banner { margin: 0; padding: .6rem 1rem; text-align: center; background: var(--wait); color: var(--wait-ink);
  font-size: .9rem; }
main { width: min(26rem, calc(100% - 2rem)); margin: clamp(1.5rem, 8vh, 5rem) auto; padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 12px 40px rgb(0 0 0 / .06); }
h1 { margin: 0; font-size: 1.1rem; font-weight: 600; color: var(--soft); }
.amount { margin: .25rem 0 1.25rem; font-size: 2.4rem; font-weight: 700; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }
.amount span { font-size: 1rem; font-weight: 500; color: var(--soft); letter-spacing: 0; }
dl { margin: 0 0 1.25rem; }
dl div { display: flex; justify-content: space-between; padding: .55rem 0; border-top: 1px solid var(--line); }
dl .total { font-weight: 600; border-bottom: 1px solid var(--line); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
fieldset { margin: 0 0 1.25rem; padding: 0; border: 0; }
legend { padding: 0; margin-bottom: .4rem; font-size: .9rem; color: var(--soft); }
label { display: flex; gap: .65rem; align-items: center; padding: .75rem .9rem; border: 1px solid var(--line); border-radius: 10px; margin-bottom: .5rem;
  cursor: pointer; }
label:has(input:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
label small { display: block; color: var(--soft); }
input { accent-color: var(--accent); flex: none; width: 1.1rem; height: 1.1rem; margin: 0; }
button, .button { display: block; width: 100%; padding: .85rem 1rem; border: 0; border-radius: 10px; text-align: center;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-decoration: none;
  cursor: pointer; }
button:focus-visible, a:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
main > p:last-child { margin-bottom: 0; }
.quiet { display: block; margin: -.25rem 0 -.75rem; padding: .7rem; border-radius: 10px; text-align: center;
  color: var(--soft); }
.alert { padding: .75rem .9rem; border-radius: 10px; background: var(--bad); color: var(--bad-ink); }
`;

export type PageNotice = 'declined' | undefined;

/** The test provider's payment page: plain HTML, no script, usable by keyboard and screen reader. */
export function paymentPage(row: CheckoutSessionRow, notice: PageNotice): HtmlPage {
  if (row.status === 'complete') {
    return testPage('Payment received', [paid(row), link(row.success_url, 'Continue')]);
  }
  if (row.status === 'expired') {
    const content = html`<p>Nothing was paid. Go back and start again.</p>${link(row.cancel_url, 'Go back')}`;
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
 * Shows buyers the state of their payment when they return, unless the session names other pages.
 * `isCanceled`: the buyer returned without paying.
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
added as soon as it does; this page checks again every ${refreshSeconds} seconds.</p>`,
    ),
    refreshSeconds,
  };
}

/** Shown for a wrong link. */
export function missingPage(): HtmlPage {
  const content = html`<p>The link may be cut off. Nothing was paid.</p>`;
  return { ...page('There is no such checkout', content), status: 404 };
}

/** Formats an amount as the console does: `$10,000.00`. */
function amountOf(row: CheckoutSessionRow): string {
  return `$${formatUsd(nanoUsd(row.amount)).replace(/\B(?=(\d{3})+\.)/g, ',')}`;
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
  return { title, style: STYLE, body: html`<main><h1>${title}</h1>${content}</main>` };
}
