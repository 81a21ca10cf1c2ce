import type { EngineSettings } from '../engines/registry.ts';
import type { Aliases } from '../http/aliases.ts';
import type { RateLimits } from '../http/limits/rate-policy.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import type { MediaOptions } from './media-options.ts';
import type { Pricing } from './pricing.ts';
import type { RunPolicy } from './run-policy.ts';

/** The endpoints a model can be called through. */
export const MODEL_ENDPOINTS = ['chat', 'messages', 'embeddings', 'rerank', 'video', 'image'] as const;
export type ModelEndpoint = (typeof MODEL_ENDPOINTS)[number];

/** One way to serve a text model. Routes are tried in the catalog's order. */
export interface ProviderRoute {
  readonly provider: string;
  /** The provider's own name for the model. */
  readonly model: string;
  /** What the provider charges the operator; undefined if not configured. */
  readonly pricing: Pricing | undefined;
  /** Request members that this model rejects; derived from its name if undefined. */
  readonly drop?: readonly string[] | undefined;
  /** How this model is asked to think; derived from its name if undefined. */
  readonly thinking?: 'budget' | 'adaptive' | undefined;
  /** Required format of tool call ids; derived from the model's name if undefined. */
  readonly toolIds?: 'any' | 'openai' | 'mistral' | undefined;
  /** Where this model accepts instructions; derived from its name if undefined. */
  readonly systemMessages?: 'anywhere' | 'first' | 'none' | undefined;
  /** How many tool calls a turn may hold; derived from the model's name if undefined. */
  readonly toolCalls?: 'any' | 'single' | undefined;
  /** Whether users and this model have to take turns; derived from its name if undefined. */
  readonly turns?: 'any' | 'alternating' | undefined;
}

/** One way to serve an image or video model. */
export interface EngineRoute {
  readonly engine: string;
  /** The engine's own name for the model. */
  readonly model: string;
  /** When tasks move on to this route. `first`: orders start here, and tasks never move here. */
  readonly when: 'first' | 'unavailable' | { readonly waitingMs: number };
  /** Timeouts and retries of this model's runs on the engine. */
  readonly runs: RunPolicy;
  /** Members added to the body of the model's orders. */
  readonly extra: Readonly<Record<string, unknown>> | undefined;
}

/** A model that is for sale. */
export interface Model {
  /** Public id, e.g. `acme/small`. */
  readonly id: string;
  /** Other public ids, for clients with hard-coded model names. */
  readonly aliases: readonly string[];
  readonly name: string;
  readonly description: string;
  readonly categories: readonly string[];
  readonly endpoints: readonly ModelEndpoint[];
  /** Input and output together, in tokens; 0 for models without a text answer. */
  readonly contextLength: number;
  /** Maximum tokens of one answer; 0 for models without a text answer. */
  readonly maxOutputTokens: number;
  /** Maximum tokens of one input item; undefined if it may fill the context. */
  readonly itemTokens: Readonly<Record<'image' | 'file' | 'audio' | 'video', number | undefined>>;
  /** Pixels of an image per token; undefined if any image may cost the maximum. */
  readonly imagePixelsPerToken: number | undefined;
  /** Maximum tokens of one page of a PDF. */
  readonly filePageTokens: number;
  readonly inputModalities: readonly string[];
  readonly tokenizer: string;
  readonly supportedParameters: readonly string[];
  readonly pricing: Pricing;
  /** Id of these prices. Any changed price gives a different id. */
  readonly priceVersion: string;
  /** Routes to providers; empty for image and video models. */
  readonly routes: readonly ProviderRoute[];
  /** Routes to engines, in order of preference; empty for text models. */
  readonly engines: readonly EngineRoute[];
  /** Options and prices of an order; undefined for text models. */
  readonly media: MediaOptions | undefined;
}

/** The seller, as named on statements and receipts. */
export interface Seller {
  readonly name: string;
  readonly address: readonly string[];
  readonly tax_id: string | null;
  /** The tax included in the price of credits; percent as a decimal string. */
  readonly tax: { readonly name: string; readonly percent: string } | null;
  /** Lines at the end of a receipt, e.g. why there is no tax. */
  readonly notes: readonly string[];
}

/** One consistent reading of tollgate.yaml. Immutable: a reload creates a new one. */
export interface Catalog {
  readonly models: ReadonlyMap<string, Model>;
  readonly providers: readonly ProviderSettings[];
  readonly engines: readonly EngineSettings[];
  /** Digests of the files that the engines refer to, by path. */
  readonly engineFiles: Readonly<Record<string, string>>;
  readonly limits: RateLimits;
  /** Maximum tasks of one account waiting for one pool. */
  readonly queuedTasksMax: number;
  readonly aliases: Aliases;
  /** Undefined if documents name no seller. */
  readonly seller: Seller | undefined;
}
