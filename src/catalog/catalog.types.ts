import type { EngineSettings } from '../engines/registry.ts';
import type { Aliases } from '../http/aliases.ts';
import type { RateLimits } from '../http/limits/rate-policy.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import type { MediaOptions } from './media-options.ts';
import type { Pricing } from './pricing.ts';
import type { RunPolicy } from './run-policy.ts';

/** What a model can be called through. */
export const MODEL_ENDPOINTS = ['chat', 'messages', 'embeddings', 'rerank', 'video', 'image'] as const;
export type ModelEndpoint = (typeof MODEL_ENDPOINTS)[number];

/** One way to serve a text model; the order in the catalog is the order of fallback. */
export interface ProviderRoute {
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly model: string;
  /** What the provider bills us; undefined when the operator did not say. */
  readonly pricing: Pricing | undefined;
  /** Members that this model refuses; undefined: by its name. */
  readonly drop?: readonly string[] | undefined;
  /** How this model is asked to think; undefined: by its name. */
  readonly thinking?: 'budget' | 'adaptive' | undefined;
  /** Whose form ids of tool calls have here; undefined: by its name. */
  readonly toolIds?: 'any' | 'openai' | 'mistral' | undefined;
}

/** What makes the pictures of an image or video model. */
export interface EngineRoute {
  readonly engine: string;
  /** The engine's own name of the model. */
  readonly model: string;
  /** When tasks go on to it: to the first never, but orders do. */
  readonly when: 'first' | 'unavailable' | { readonly waitingMs: number };
  /** How runs of this model are tried there. */
  readonly runs: RunPolicy;
  /** What is added to the body of its orders. */
  readonly extra: Readonly<Record<string, unknown>> | undefined;
}

/** A model that is for sale. */
export interface Model {
  /** Public id, e.g. `acme/small`. */
  readonly id: string;
  /** Other public ids, for clients that insist on names they know. */
  readonly aliases: readonly string[];
  readonly name: string;
  readonly description: string;
  readonly categories: readonly string[];
  readonly endpoints: readonly ModelEndpoint[];
  /** Input and output together, in tokens; 0 for models without a text answer. */
  readonly contextLength: number;
  /** The most tokens of one answer; 0 for models without a text answer. */
  readonly maxOutputTokens: number;
  /** The most tokens that one item of the input can be; undefined: it may fill the context. */
  readonly itemTokens: Readonly<Record<'image' | 'file' | 'audio' | 'video', number | undefined>>;
  /** Pixels of an image for one token of it; undefined: any image may cost the most. */
  readonly imagePixelsPerToken: number | undefined;
  /** Most tokens one page of a PDF can be. */
  readonly filePageTokens: number;
  readonly inputModalities: readonly string[];
  readonly tokenizer: string;
  readonly supportedParameters: readonly string[];
  readonly pricing: Pricing;
  /** Id of these prices; a changed price is another id. */
  readonly priceVersion: string;
  /** Empty for image and video models. */
  readonly routes: readonly ProviderRoute[];
  /** The order is that of preference; empty for text models. */
  readonly engines: readonly EngineRoute[];
  /** What an order may ask for and costs; undefined for text models. */
  readonly media: MediaOptions | undefined;
}

/** Who sells, as statements and receipts say it. */
export interface Seller {
  readonly name: string;
  readonly address: readonly string[];
  readonly tax_id: string | null;
  /** The tax that the price of credits includes; percent as decimal text. */
  readonly tax: { readonly name: string; readonly percent: string } | null;
  /** Lines at the end of a receipt, e.g. why there is no tax. */
  readonly notes: readonly string[];
}

/** One consistent reading of tollgate.yaml. Never changed: a reload makes another one. */
export interface Catalog {
  readonly models: ReadonlyMap<string, Model>;
  readonly providers: readonly ProviderSettings[];
  readonly engines: readonly EngineSettings[];
  /** Digests of the files that the engines name, by path. */
  readonly engineFiles: Readonly<Record<string, string>>;
  readonly limits: RateLimits;
  /** Tasks of one account that may wait for one pool. */
  readonly queuedTasksMax: number;
  readonly aliases: Aliases;
  /** Undefined: documents name no seller. */
  readonly seller: Seller | undefined;
}
