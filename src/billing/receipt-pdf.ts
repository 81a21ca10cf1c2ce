import type { Seller } from '../catalog/catalog.types.ts';
import { formatUsd, type NanoUsd, nanoUsd } from '../lib/money.ts';
import { documentNumber, type Party } from './documents.types.ts';
import { drawFreeText } from './statement-font.ts';
import {
  CONTENT_WIDTH,
  drawAmount,
  drawFooters,
  drawHeading,
  linesOf,
  MARGIN,
  openPdf,
  palette,
} from './statement-page.ts';

export interface Receipt {
  readonly number: number;
  readonly issuedAt: Date;
  readonly paidAt: Date;
  readonly seller: Seller | undefined;
  readonly buyer: Party;
  /** Public id of the checkout session. */
  readonly session: string;
  /** The payment provider, and its id of the payment. */
  readonly payment: string;
  /** Where the provider shows its own invoice or receipt. */
  readonly providerUrl: string | null;
  readonly amount: NanoUsd;
}

/** 100 %, in thousandths of a percent. */
const WHOLE = 100_000n;
const CENT = 10_000_000n;

/** Returns the tax included in an amount, in whole cents, rounded half up. `percent` is decimal text with up to 3 decimals. */
export function includedTax(amount: NanoUsd, percent: string): NanoUsd {
  const [whole = '0', fraction = ''] = percent.split('.');
  const rate = BigInt(whole + fraction.padEnd(3, '0'));
  const divisor = (WHOLE + rate) * CENT;
  return nanoUsd(((2n * amount * rate + divisor) / (2n * divisor)) * CENT);
}

/** Renders the receipt for a purchase of credits as PDF. */
export async function receiptPdf(receipt: Receipt): Promise<Buffer> {
  const { number, issuedAt, paidAt, seller, amount } = receipt;
  const parties = seller ? [seller, receipt.buyer] : [receipt.buyer];
  const texts = [...parties.flatMap(linesOf), ...(seller?.notes ?? []), seller?.tax?.name ?? ''];
  const { pdf, finish } = await openPdf('Receipt', issuedAt, texts);
  const name = documentNumber('receipt', number);
  drawHeading(pdf, {
    ...receipt,
    title: 'Receipt',
    facts: [
      ['Number', name],
      ['Issue date', issuedAt.toISOString().slice(0, 10)],
      ['Paid on (UTC)', paidAt.toISOString().slice(0, 10)],
      ['Payment', receipt.payment],
      ['Checkout session', receipt.session],
      ['Currency', 'USD'],
    ],
  });
  drawAmount(pdf, 'Prepaid credits', formatUsd(amount), false);
  if (seller?.tax) {
    const tax = includedTax(amount, seller.tax.percent);
    drawAmount(pdf, 'Net', formatUsd(nanoUsd(amount - tax)), false);
    drawAmount(pdf, `${seller.tax.name} ${seller.tax.percent} %`, formatUsd(tax), false);
  }
  drawAmount(pdf, 'Total paid', formatUsd(amount), true);
  pdf.y += 12;
  if (receipt.providerUrl !== null) {
    pdf.font('Helvetica').fontSize(9).fillColor(palette.soft);
    const link = { link: receipt.providerUrl, underline: true, width: CONTENT_WIDTH };
    pdf.text("The payment provider's own document", MARGIN, pdf.y, link);
    pdf.y += 4;
  }
  for (const note of seller?.notes ?? []) {
    const place = { x: MARGIN, y: pdf.y, width: CONTENT_WIDTH };
    drawFreeText(pdf, { text: note, size: 9, color: palette.soft, ...place, isParagraph: true });
    pdf.y += 4;
  }
  drawFooters(pdf, name);
  return finish();
}
