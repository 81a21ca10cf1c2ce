import { remember, remembered } from '../lib/device-store.ts';

const AGAIN_AFTER_MS = 60_000;
const ASK_MS = 1_000;

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
  void reloadWhenReachable();
  return true;
}

/** While the service restarts, a reload would end on the browser's own error page, which does not come back by itself. */
async function reloadWhenReachable(): Promise<void> {
  while (!(await isReachable())) {
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
  window.location.reload();
}

function isReachable(): Promise<boolean> {
  return fetch(window.location.href, { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Recognizes the errors of browsers when a module cannot be loaded; each browser words it differently. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof TypeError && /module|import/i.test(error.message);
}
