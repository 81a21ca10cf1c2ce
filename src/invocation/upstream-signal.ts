import type { AccountConcurrency } from '../lib/account-concurrency.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import type { Provider } from '../providers/provider.types.ts';
import type { InFlight } from './in-flight.ts';

export interface UpstreamSignal {
  readonly signal: StopSignal;
  /** Ends the upstream call because nobody wants the rest. */
  abort(): void;
  /** Stops listening to other signals. */
  release(): void;
}

export interface UpstreamSignalParts {
  /** Aborts when the client disconnects. */
  readonly client: StopSignal;
  readonly inFlight: InFlight;
  readonly onDisconnect: Provider['onDisconnect'];
  readonly accountId: string;
  /** Answers that are still read although their clients disconnected, limited per account. */
  readonly reads: AccountConcurrency;
  /** How long to keep reading an answer, in ms. */
  readonly drainMs: number;
  /** Called when we give up an answer that the provider continues. */
  readonly onAbandon: () => void;
}

/**
 * Creates the signal that ends an upstream call. It aborts immediately at shutdown. When the client disconnects, it aborts immediately
 * for a provider that stops then; otherwise we keep reading for the usage until that takes too long, or abort immediately when the
 * account already has as many such reads as it may.
 */
export function upstreamSignal(parts: UpstreamSignalParts): UpstreamSignal {
  const { client, inFlight, accountId, reads } = parts;
  const controller = new StopController();
  let timer: NodeJS.Timeout | undefined;
  let endReading: (() => void) | undefined;
  const abort = () => controller.abort();
  const abandon = () => {
    parts.onAbandon();
    abort();
  };
  const onLeave = () => {
    if (parts.onDisconnect === 'abort') {
      abort();
      return;
    }
    endReading = reads.take(accountId);
    if (endReading) {
      timer = setTimeout(abandon, parts.drainMs);
    } else {
      abandon();
    }
  };
  client.addEventListener('abort', onLeave, { once: true });
  const unregister = inFlight.register(controller);
  if (client.aborted) {
    onLeave();
  }
  return {
    signal: controller.signal,
    abort,
    release() {
      clearTimeout(timer);
      endReading?.();
      endReading = undefined;
      client.removeEventListener('abort', onLeave);
      unregister();
    },
  };
}
