import type { AccountPlaces } from '../lib/account-places.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import type { Provider } from '../providers/provider.types.ts';
import type { InFlight } from './in-flight.ts';

export interface UpstreamSignal {
  readonly signal: StopSignal;
  /** Ends the upstream call: nobody wants the rest. */
  abort(): void;
  /** Lets go of the signals it listens to. */
  release(): void;
}

export interface UpstreamSignalParts {
  /** Aborts when the client leaves. */
  readonly client: StopSignal;
  readonly inFlight: InFlight;
  readonly onDisconnect: Provider['onDisconnect'];
  readonly accountId: string;
  /** Answers that are read on though their clients left. */
  readonly reads: AccountPlaces;
  /** How long an answer is read on, in ms. */
  readonly drainMs: number;
  /** Told when an answer is given up that the provider goes on with. */
  readonly onAbandon: () => void;
}

/**
 * When an upstream call is given up: at shutdown at once; when the client leaves at once for a provider that stops then, else
 * only when reading on for its usage takes too long or the account already has as many such readings as it may.
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
