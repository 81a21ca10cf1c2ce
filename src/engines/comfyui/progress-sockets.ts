import { listenForProgress, type ProgressListening } from './progress-socket.ts';

interface Listener {
  readonly close: () => void;
  readonly signal: AbortSignal;
  readonly onAbort: () => void;
}

/** More than any host has slots; an attempt that broke off without a word leaves its socket until then. */
const LISTENERS_MAX = 64;

/** One progress socket per run under way. Owns them: each closes with its run, its attempt, its server, or the engine. */
export class ProgressSockets {
  readonly #listeners = new Map<string, Listener>();

  /** Listens until the signal aborts or {@link close}. A second call of the same attempt does nothing. */
  open(listening: ProgressListening, signal: AbortSignal): void {
    const { promptId } = listening;
    if (signal.aborted || this.#listeners.get(promptId)?.signal === signal) {
      return;
    }
    this.close(promptId);
    const [oldest] = this.#listeners.keys();
    if (oldest !== undefined && this.#listeners.size >= LISTENERS_MAX) {
      this.close(oldest);
    }
    const onAbort = (): void => this.close(promptId);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#listeners.set(promptId, { close: listenForProgress(listening), signal, onAbort });
  }

  close(promptId: string): void {
    const listener = this.#listeners.get(promptId);
    if (listener) {
      this.#listeners.delete(promptId);
      listener.signal.removeEventListener('abort', listener.onAbort);
      listener.close();
    }
  }

  closeAll(): void {
    for (const promptId of [...this.#listeners.keys()]) {
      this.close(promptId);
    }
  }
}
