import { AnthropicProvider } from './anthropic.provider.ts';
import { BuiltinProvider } from './builtin.provider.ts';
import { OpenAiProvider } from './openai.provider.ts';
import type { Provider } from './provider.types.ts';
import type { ProviderSettings } from './provider-settings.ts';
import { ResponsesProvider } from './responses.provider.ts';

/** Creates the adapter for a provider's settings. It owns connections and must be closed. */
export function createProvider(settings: ProviderSettings): Provider {
  switch (settings.protocol) {
    case 'openai':
      return new OpenAiProvider(settings);
    case 'anthropic':
      return new AnthropicProvider(settings);
    case 'responses':
      return new ResponsesProvider(settings);
    case 'builtin':
      return new BuiltinProvider(settings);
  }
}
