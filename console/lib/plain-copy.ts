import { THIN_SPACE } from './money.ts';

const AMOUNT = /^\u2212?\$[\d,.]+$/;

/** Makes copied amounts usable for calculation: `0.00003675`, not `$0.000 036 75`. */
export function copyPlainAmounts(): void {
  document.addEventListener('copy', (event) => {
    const shown = window.getSelection()?.toString() ?? '';
    if (!shown.includes(THIN_SPACE) && !AMOUNT.test(shown.trim())) {
      return;
    }
    const text = shown.replaceAll(THIN_SPACE, '').trim();
    const plain = AMOUNT.test(text) ? text.replace('\u2212', '-').replace(/[$,]/g, '') : text;
    event.clipboardData?.setData('text/plain', plain);
    event.preventDefault();
  });
}
