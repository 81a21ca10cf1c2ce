import type { ProviderSource } from '../invocation/route-runner.ts';
import type { Tracing } from '../lib/tracing.ts';
import type { Provider } from '../providers/provider.types.ts';

/** Wraps providers with a span around each call, which ends with the whole answer or with the first event of a stream. */
export function tracedProviders(source: ProviderSource, tracing: Tracing): ProviderSource {
  if (!tracing.enabled) {
    return source;
  }
  const traced = new WeakMap<Provider, Provider>();
  return {
    find(id) {
      const provider = source.find(id);
      if (!provider) {
        return undefined;
      }
      const known = traced.get(provider) ?? tracedProvider(provider, tracing);
      traced.set(provider, known);
      return known;
    },
  };
}

function tracedProvider(provider: Provider, tracing: Tracing): Provider {
  // names from OpenTelemetry's conventions for generative AI
  const options = (operation: 'chat' | 'embeddings' | 'rerank', model: string) =>
    ({
      kind: 'client',
      facts: {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': provider.id,
        'gen_ai.request.model': model,
      },
    }) as const;
  return {
    id: provider.id,
    requestDialect: provider.requestDialect,
    dialect: provider.dialect,
    onDisconnect: provider.onDisconnect,
    outputCapMin: provider.outputCapMin,
    passThrough: provider.passThrough,
    complete: (request, signal) =>
      tracing.span('provider complete', options('chat', request.model), () =>
        provider.complete(request, signal),
      ),
    stream: (request, signal) =>
      tracing.span('provider stream', options('chat', request.model), () => provider.stream(request, signal)),
    embed: (request, signal) =>
      tracing.span('provider embed', options('embeddings', request.model), () =>
        provider.embed(request, signal),
      ),
    rerank: (request, signal) =>
      tracing.span('provider rerank', options('rerank', request.model), () =>
        provider.rerank(request, signal),
      ),
    probe: (signal) => provider.probe(signal),
    close: () => provider.close(),
  };
}
