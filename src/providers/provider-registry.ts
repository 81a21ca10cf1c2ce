import { createProvider } from './create-provider.ts';
import type { Provider } from './provider.types.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** How long a provider removed from the configuration keeps its connections for calls still in flight, in ms. */
const RETIREMENT_MS = 3_660_000;

interface Entry {
  readonly fingerprint: string;
  readonly provider: Provider;
}

/** The providers of the current configuration by id. Owns them: closing the registry closes every connection. */
export class ProviderRegistry {
  readonly #retired = new Map<Provider, NodeJS.Timeout>();
  #entries = new Map<string, Entry>();

  constructor(settings: readonly ProviderSettings[]) {
    this.update(settings);
  }

  find(id: string): Provider | undefined {
    return this.#entries.get(id)?.provider;
  }

  /** Applies a new configuration. Providers whose settings did not change keep their connections. */
  update(settings: readonly ProviderSettings[]): void {
    const before = this.#entries;
    this.#entries = new Map(settings.map((one) => [one.id, entryFor(one, before.get(one.id))]));
    const kept = new Set([...this.#entries.values()].map((entry) => entry.provider));
    for (const { provider } of before.values()) {
      if (!kept.has(provider)) {
        this.#retire(provider);
      }
    }
  }

  /** Closes every provider; calls in flight fail. */
  async close(): Promise<void> {
    for (const timer of this.#retired.values()) {
      clearTimeout(timer);
    }
    const current = [...this.#entries.values()].map((entry) => entry.provider);
    const all = [...current, ...this.#retired.keys()];
    this.#entries.clear();
    this.#retired.clear();
    await Promise.all(all.map((provider) => provider.close()));
  }

  #retire(provider: Provider): void {
    const timer = setTimeout(() => {
      this.#retired.delete(provider);
      void provider.close();
    }, RETIREMENT_MS);
    timer.unref();
    this.#retired.set(provider, timer);
  }
}

function entryFor(settings: ProviderSettings, before: Entry | undefined): Entry {
  const fingerprint = JSON.stringify(settings);
  return before?.fingerprint === fingerprint ? before : { fingerprint, provider: createProvider(settings) };
}
