import type { StopSignal } from './stop-signal.ts';

/** Resolves after `milliseconds`, when the signal aborts or when `ended` resolves, whichever comes first. Leaves no timer behind. */
export function pause(milliseconds: number, signal: StopSignal, ended?: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    signal.addEventListener('abort', wake, { once: true });
    void ended?.then(wake);
  });
}
