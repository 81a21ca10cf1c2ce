import type { Redis } from 'ioredis';
import { BODY_BYTES_MAX } from '../http/input/body-bytes.ts';
import type { Route } from '../http/route.ts';
import { Admission } from '../invocation/admission.ts';
import { chatRoutes } from '../invocation/chat.routes.ts';
import { embeddingsRoutes } from '../invocation/embeddings/embeddings.routes.ts';
import { estimateRoutes } from '../invocation/estimates.routes.ts';
import { HiddenOverheadStore } from '../invocation/hidden-overhead.store.ts';
import { HiddenOverhead } from '../invocation/hidden-overhead.ts';
import { InFlight } from '../invocation/in-flight.ts';
import { InvocationService } from '../invocation/invocation.service.ts';
import { DEFAULT_INVOCATION_SETTINGS } from '../invocation/invocation.types.ts';
import { messagesRoutes } from '../invocation/messages.routes.ts';
import { rerankRoutes } from '../invocation/rerank/rerank.routes.ts';
import { responsesRoutes } from '../invocation/responses/responses.routes.ts';
import { RouteRunner } from '../invocation/route-runner.ts';
import { TypicalOutput } from '../invocation/typical-output.read-model.ts';
import type { EventLoopQueue } from '../lib/event-loop-queue.ts';
import { CircuitExchange } from '../providers/circuit-exchange.ts';
import { ProviderHealth } from '../providers/provider-health.ts';
import { ProviderRegistry } from '../providers/provider-registry.ts';
import { registerMarginGauges } from '../telemetry/margin-gauges.ts';
import { tracedProviders } from '../telemetry/traced-providers.ts';
import type { Foundation } from './foundation.ts';

/** Within this time, in ms, a process learns what another has learned about a provider. */
const EXCHANGE_EVERY_MS = 10_000;

export interface InvocationParts {
  readonly routes: readonly Route[];
  readonly service: InvocationService;
  readonly circuits: CircuitExchange;
  close(): Promise<void>;
}

/** Assembles chat, messages, responses, embeddings and rerank with the providers of the catalog in force. */
export function composeInvocation(
  foundation: Foundation,
  loopQueue: EventLoopQueue,
  redis: Redis,
): InvocationParts {
  const { config, ledger, catalog, catalogSource, clock, log, tracing } = foundation;
  const registry = new ProviderRegistry(catalogSource.current.providers);
  catalogSource.onChange((current) => registry.update(current.providers));
  const providers = tracedProviders(registry, tracing);
  const settings = { ...DEFAULT_INVOCATION_SETTINGS, httpMediaUrls: config.httpMediaUrls };
  const overhead = composeOverhead(foundation);
  const admission = new Admission({
    ledger,
    models: catalog,
    providers,
    clock,
    log,
    loopQueue,
    overhead,
    settings,
  });
  const health = new ProviderHealth(clock);
  const circuits = new CircuitExchange({
    ...{ redis, prefix: config.redisPrefix, replica: `${config.workerName}.${process.pid}`, clock, log },
    resting: () => health.resting(),
  });
  circuits.start(EXCHANGE_EVERY_MS / 2);
  const runner = new RouteRunner(providers, health, clock);
  const service = new InvocationService(admission, runner, new InFlight(), settings);
  const routes = { service, bodyBytesMax: BODY_BYTES_MAX };
  return {
    routes: [
      ...chatRoutes(routes),
      ...messagesRoutes(routes),
      ...responsesRoutes({ ...routes, loopQueue, clock }),
      ...embeddingsRoutes(routes),
      ...rerankRoutes(routes),
      ...estimateRoutes(service, new TypicalOutput(foundation.cells)),
    ],
    service,
    circuits,
    close: async () => {
      await circuits.close();
      await overhead.close();
      await registry.close();
    },
  };
}

/** Creates the record of tokens that providers add to inputs, shared with other processes. */
function composeOverhead({ cells, log, registry }: Foundation): HiddenOverhead {
  const overhead = new HiddenOverhead(new HiddenOverheadStore(cells.home.money), log);
  registerMarginGauges(registry, overhead);
  overhead.start(EXCHANGE_EVERY_MS);
  return overhead;
}
