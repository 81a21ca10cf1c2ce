import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import type { Provider } from '../providers/provider.types.ts';
import type { InFlight } from './in-flight.ts';

export interface UpstreamSignal {
  readonly signal: StopSignal;
  /** Lets go of the signals it listens to. */
  release(): void;
}

/**
 * When an upstream call is given up: at shutdown at once; when the client leaves at once or, for a provider that is
 * drained, `drainMs` later, so that its own usage report can still arrive.
 */
export function upstreamSignal(
  client: StopSignal,
  inFlight: InFlight,
  onDisconnect: Provider['onDisconnect'],
  drainMs: number,
): UpstreamSignal {
  const controller = new StopController();
  let timer: NodeJS.Timeout | undefined;
  const abort = () => controller.abort();
  const onLeave = () => {
    if (onDisconnect === 'abort') {
      abort();
    } else {
      timer = setTimeout(abort, drainMs);
    }
  };
  client.addEventListener('abort', onLeave, { once: true });
  const unregister = inFlight.register(controller);
  if (client.aborted) {
    onLeave();
  }
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      client.removeEventListener('abort', onLeave);
      unregister();
    },
  };
}
