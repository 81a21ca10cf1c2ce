import type { Socket } from 'node:net';
import { Agent, buildConnector, WebSocket } from 'undici';
import { z } from 'zod';
import { parseJson } from '../upstream-answer.ts';

const progress = z.object({ prompt_id: z.string(), value: z.number(), max: z.number() });
const progressState = z.object({
  prompt_id: z.string(),
  nodes: z.record(z.string(), z.object({ value: z.number(), max: z.number() })),
});

const message = z.object({ type: z.string(), data: z.unknown() });

/** Progress at the end of sampling; the rest is for what follows. */
const PROGRESS_MAX = 0.95;
const MESSAGE_LENGTH_MAX = 1_048_576;
/** Large enough for previews, which arrive although we skip them. */
const PAYLOAD_BYTES_MAX = 16_777_216;
const CONNECT_MS = 3_000;

interface ProgressListening {
  /** The ws(s) URL, including the client id. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly promptId: string;
  /** Number of nodes in the graph. */
  readonly nodes: number;
  /** Called with 0–1, not necessarily increasing. */
  readonly onProgress: (fraction: number) => void;
}

interface Listener {
  readonly close: () => void;
  readonly signal: AbortSignal;
  readonly onAbort: () => void;
}

/** More than any host has slots. An attempt that ends without closing its socket leaves it open until this limit is reached. */
const LISTENERS_MAX = 64;

/** One progress socket per active run. Owns them: each closes with its run, its attempt, its server, or the engine. */
export class ProgressSockets {
  readonly #listeners = new Map<string, Listener>();

  /** Listens until the signal is aborted or {@link close} is called. A second call for the same attempt does nothing. */
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

/**
 * Listens to a run's progress. The progress is only a hint: connection failures and wrong values do not affect the run. Returns a function
 * that stops listening immediately.
 */
function listenForProgress(listening: ProgressListening): () => void {
  const connect = buildConnector({ timeout: CONNECT_MS });
  let connection: Socket | undefined;
  const dispatcher = new Agent({
    webSocket: { maxPayloadSize: PAYLOAD_BYTES_MAX },
    connect: (options, callback) =>
      connect(options, (...result) => {
        connection = result[1] ?? undefined;
        callback(...result);
      }),
  });
  const socket = new WebSocket(listening.url, { dispatcher, headers: { ...listening.headers } });
  socket.addEventListener('error', () => undefined);
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string' && data.length <= MESSAGE_LENGTH_MAX) {
      const fraction = fractionOf(data, listening);
      if (fraction !== undefined) {
        listening.onProgress(Math.min(Math.max(fraction, 0), 1) * PROGRESS_MAX);
      }
    }
  });
  return () => {
    // Destroy the connection: a closing handshake would need a peer that responds.
    connection?.destroy();
    dispatcher.destroy().catch(() => undefined);
  };
}

/** Returns the progress (0–1) from a text message of `/ws` about our run; undefined for every other message. */
export function fractionOf(
  text: string,
  { promptId, nodes }: Pick<ProgressListening, 'promptId' | 'nodes'>,
): number | undefined {
  const parsed = message.safeParse(parseJson(text));
  if (!parsed.success) {
    return undefined;
  }
  const { type, data } = parsed.data;
  if (type === 'progress') {
    const step = progress.safeParse(data);
    // Nodes with a single step are not samplers.
    const counts = step.success && step.data.prompt_id === promptId && step.data.max > 1;
    return counts ? step.data.value / step.data.max : undefined;
  }
  const state = type === 'progress_state' ? progressState.safeParse(data) : undefined;
  return state?.success && state.data.prompt_id === promptId ? shareOf(state.data.nodes, nodes) : undefined;
}

/** Returns the share of steps done. Nodes that have not started count as one step. */
function shareOf(known: Readonly<Record<string, { value: number; max: number }>>, nodes: number): number {
  const states = Object.values(known);
  const notBegun = Math.max(0, nodes - states.length);
  const total = states.reduce((sum, { max }) => sum + Math.max(max, 1), notBegun);
  const done = states.reduce((sum, { value, max }) => sum + Math.min(Math.max(value, 0), max), 0);
  return total === 0 ? 0 : done / total;
}
