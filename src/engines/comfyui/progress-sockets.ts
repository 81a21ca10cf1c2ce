import { listenForProgress, type ProgressListening } from './progress-socket.ts';

interface Listener {
  readonly close: () => void;
  readonly signal: AbortSignal;
  readonly onAbort: () => void;
}

/** One progress socket per run under way. Owns them: each closes with its run, its attempt, or the engine. */
export class ProgressSockets {
  readonly #listeners = new Map<string, Listener>();

  /** Listens until the signal aborts or {@link close}. A second call for the same run does nothing. */
  open(listening: ProgressListening, signal: AbortSignal): void {
    const { promptId } = listening;
    const held = this.#listeners.get(promptId);
    if (signal.aborted || (held && !held.signal.aborted)) {
      return;
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
