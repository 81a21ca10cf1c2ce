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

/**
 * Puts a text on the clipboard and returns whether it is there. Over plain http, or where the clipboard is denied, the page may
 * still copy in response to a click.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

function copyByCommand(text: string): boolean {
  let isCopied = false;
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopImmediatePropagation();
    isCopied = event.clipboardData !== null;
  };
  window.addEventListener('copy', put, { capture: true, once: true });
  // deprecated, but there is no other way without https
  const isDone = document.execCommand('copy');
  window.removeEventListener('copy', put, { capture: true });
  return isDone && isCopied;
}
