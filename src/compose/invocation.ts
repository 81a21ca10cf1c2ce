import type { Route } from '../http/route.ts';
import { Admission } from '../invocation/admission.ts';
import { chatRoutes } from '../invocation/chat.routes.ts';
import { InFlight } from '../invocation/in-flight.ts';
import { InvocationService } from '../invocation/invocation.service.ts';
import { DEFAULT_INVOCATION_SETTINGS } from '../invocation/invocation.types.ts';
import { messagesRoutes } from '../invocation/messages.routes.ts';
import { RouteRunner } from '../invocation/route-runner.ts';
import type { LoopTurns } from '../lib/loop-turns.ts';
import { ProviderHealth } from '../providers/provider-health.ts';
import { ProviderRegistry } from '../providers/provider-registry.ts';
import { tracedProviders } from '../telemetry/traced-providers.ts';
import type { Foundation } from './foundation.ts';

/** Base64 images make chat bodies large. */
const BODY_BYTES_MAX = 32 * 2 ** 20;

export interface InvocationParts {
  readonly routes: readonly Route[];
  readonly service: InvocationService;
  close(): Promise<void>;
}

/** Chat and messages, with the providers of the catalog in force. */
export function composeInvocation(
  { ledger, catalog, catalogSource, clock, log, tracing }: Foundation,
  turns: LoopTurns,
): InvocationParts {
  const registry = new ProviderRegistry(catalogSource.current.providers);
  catalogSource.onChange((current) => registry.update(current.providers));
  const providers = tracedProviders(registry, tracing);
  const settings = DEFAULT_INVOCATION_SETTINGS;
  const admission = new Admission({ ledger, models: catalog, providers, clock, log, turns, settings });
  const runner = new RouteRunner(providers, new ProviderHealth(clock), clock);
  const service = new InvocationService(admission, runner, new InFlight(), settings);
  const routes = { service, bodyBytesMax: BODY_BYTES_MAX };
  return {
    routes: [...chatRoutes(routes), ...messagesRoutes(routes)],
    service,
    close: () => registry.close(),
  };
}
