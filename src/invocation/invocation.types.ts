import type { Pricing } from '../catalog/pricing.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { TokenUsage, UsageSource } from '../lib/usage.ts';
import type { JsonObject } from '../providers/json.ts';
import type { FinishReason, RequestDialect } from '../providers/provider.types.ts';
import type { ItemKind } from './input-media.ts';

/** Who calls, as far as an invocation cares. */
export interface Caller {
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly allowedModels: readonly string[] | null;
  /** What account and key could spend a moment ago, in nano-USD: a hint. */
  readonly spendable: NanoUsd;
}

/** A provider that serves a model, under the provider's own name of it. */
export interface ModelRoute {
  readonly provider: string;
  readonly model: string;
  /** What the provider bills us; undefined when the operator did not say. */
  readonly pricing?: Pricing | undefined;
  /** Members that this model refuses; undefined: by its name. */
  readonly drop?: readonly string[] | undefined;
  /** How this model is asked to think; undefined: by its name. */
  readonly thinking?: 'budget' | 'adaptive' | undefined;
  /** Whose form ids of tool calls have here; undefined: by its name. */
  readonly toolIds?: 'any' | 'openai' | 'mistral' | undefined;
}

/** A model of the catalog, as far as an invocation cares. */
export interface InvocableModel {
  readonly id: string;
  readonly endpoints: readonly string[];
  readonly contextLength: number;
  readonly maxOutputTokens: number;
  readonly pricing: Pricing;
  readonly priceVersion: string;
  /** In fallback order. */
  readonly routes: readonly ModelRoute[];
  readonly supportedParameters: readonly string[];
  /** What it takes besides text is refused where it is not named here. */
  readonly inputModalities: readonly string[];
  /** Most tokens one item of the input can be, by kind; undefined: it may fill the context. */
  readonly itemTokens: Readonly<Partial<Record<ItemKind, number | undefined>>>;
  /** Pixels of an image for one token of it; undefined: any image may cost the most. */
  readonly imagePixelsPerToken?: number | undefined;
  /** Most tokens one page of a PDF can be; undefined: any file may cost the most. */
  readonly filePageTokens?: number | undefined;
}

/** Where models are looked up. Throws AppError model_not_found or model_not_allowed. */
export interface ModelSource {
  invocable(modelId: string, caller: Caller): InvocableModel;
}

/** One call as its route understood it. */
export interface Invocation {
  readonly dialect: RequestDialect;
  /** The literal path, as it stands in reports. */
  readonly endpoint: string;
  /** The catalog's endpoints of which a model must have one. */
  readonly servedBy: readonly string[];
  readonly requestId: string;
  /** The generation id (UUID text form). */
  readonly generationId: string;
  /** The same id as the caller sees it. */
  readonly publicId: string;
  readonly caller: Caller;
  readonly modelId: string;
  /** Models to go on with, in this order, when that one fails. */
  readonly fallbackIds: readonly string[];
  /** The request in the caller's dialect, freed of what is ours to set. */
  readonly body: JsonObject;
  /** The same request in Responses, where it came so, for providers that are asked in it. */
  readonly native?: JsonObject | undefined;
  /** Runs work on the whole of it: where it is long, in turns with that of others. */
  readonly inTurn: InTurn;
  /** Its members that are not on the dialect's list, as they came: sent only where a provider's entry names them. */
  readonly others: JsonObject;
  /** Betas of Anthropic's that the caller asks for and that are passed on. */
  readonly betas: readonly string[];
  /** Paths of the members that are left out. */
  readonly ignored: readonly string[];
  /** Inputs that have a context each: texts to embed, documents to rank. */
  readonly inputs: number;
  /** The output cap the caller asked for, in tokens. */
  readonly maxTokens: number | undefined;
  /** The most this call may cost, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  readonly streamed: boolean;
  /** Whether a chat stream tells its usage in a chunk of its own. */
  readonly usageApart: boolean;
  /** Aborts when the client leaves. */
  readonly signal: StopSignal;
  /** Told what the call really used and cost, once it is settled. */
  readonly onSettled: (settled: SettledCall) => void;
}

/** What is known of a call once its charge is committed. */
export interface SettledCall {
  /** The model that was charged for. */
  readonly model: string;
  readonly provider: string | undefined;
  readonly usage: TokenUsage;
  /** In nano-USD. */
  readonly charge: NanoUsd;
  /** Code of the error that ended it. */
  readonly code: string | undefined;
}

/** How a call ended, after its charge is committed. */
export interface CallEnd {
  readonly usage: TokenUsage;
  readonly usageSource: UsageSource;
  readonly finishReason: FinishReason;
  /** What stands in the ledger, in nano-USD. */
  readonly charge: NanoUsd;
}

export interface InvocationSettings {
  /** The affordability clamp never goes below this many tokens. */
  readonly outputFloorTokens: number;
  /** How long a provider is read on for its usage after the client left, in ms. */
  readonly drainMs: number;
  /** How many answers of one account are read on at once, in each process. */
  readonly drainsPerAccount: number;
  /** What an account is waived in an hour of answers that providers break off or nobody gets, in nano-USD. */
  readonly failureAllowance: NanoUsd;
  /** Whether images and files may be named by URLs that begin with http://, too. */
  readonly httpMediaUrls: boolean;
}

export const DEFAULT_INVOCATION_SETTINGS: InvocationSettings = {
  outputFloorTokens: 16,
  drainMs: 600_000,
  drainsPerAccount: 200,
  failureAllowance: nanoUsd(100_000_000n),
  httpMediaUrls: false,
};
