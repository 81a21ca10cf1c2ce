import { remember, remembered } from './device-store.ts';

const AGAIN_AFTER_MS = 60_000;

/** After an upgrade, a tab that was open asks for files that are gone: the page is loaded anew, once. */
export function reloadOnceForNewFiles(): void {
  window.addEventListener('unhandledrejection', (event) => {
    if (isMissingFile(event.reason) && reload()) {
      event.preventDefault();
    }
  });
}

/** Whether the page is on its way to being loaded anew. */
export function reload(): boolean {
  const last = Number(remembered('reloaded') ?? 0);
  if (Date.now() - last < AGAIN_AFTER_MS) {
    return false;
  }
  remember('reloaded', String(Date.now()));
  window.location.reload();
  return true;
}

/** What browsers say when a module cannot be loaded; each has words of its own. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof TypeError && /module|import/i.test(error.message);
}
