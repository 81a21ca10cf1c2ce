import { remember, remembered } from './device-store.ts';

const AGAIN_AFTER_MS = 60_000;

/** Reloads the page once when, after an upgrade, an open tab requests files that no longer exist. */
export function reloadOnceForNewFiles(): void {
  window.addEventListener('unhandledrejection', (event) => {
    if (isMissingFile(event.reason) && reload()) {
      event.preventDefault();
    }
  });
}

/** Reloads the page unless it was just reloaded. Returns whether it is reloading. */
export function reload(): boolean {
  const last = Number(remembered('reloaded') ?? 0);
  if (Date.now() - last < AGAIN_AFTER_MS) {
    return false;
  }
  remember('reloaded', String(Date.now()));
  window.location.reload();
  return true;
}

/** Recognizes the errors of browsers when a module cannot be loaded; each browser words it differently. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof TypeError && /module|import/i.test(error.message);
}
