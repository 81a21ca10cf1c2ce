import type { Pricing } from '../catalog/pricing.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { TokenUsage } from '../lib/usage.ts';
import type { JsonObject } from '../providers/json.ts';
import type { FinishReason, RequestDialect } from '../providers/provider.types.ts';
import type { ItemKind } from './input-media.ts';

/** The caller, reduced to what an invocation needs. */
export interface Caller {
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly allowedModels: readonly string[] | null;
  /** What the account and the key could spend a moment ago, in nano-USD. Only a hint. */
  readonly spendable: NanoUsd;
}

/** A provider that serves a model, and the provider's own name for that model. */
export interface ModelRoute {
  readonly provider: string;
  readonly model: string;
  /** What the provider bills us. Undefined when the operator did not configure it. */
  readonly pricing?: Pricing | undefined;
  /** Members that this model rejects. Undefined: derived from the model's name. */
  readonly drop?: readonly string[] | undefined;
  /** How to ask this model to think. Undefined: derived from the model's name. */
  readonly thinking?: 'budget' | 'adaptive' | undefined;
  /** Required form of tool call ids. Undefined: derived from the model's name. */
  readonly toolIds?: 'any' | 'openai' | 'mistral' | undefined;
  /** Where this model accepts instructions. Undefined: derived from the model's name. */
  readonly systemMessages?: SystemMessages | undefined;
  /** How many tool calls a turn may hold. Undefined: derived from the model's name. */
  readonly toolCalls?: 'any' | 'single' | undefined;
  /** Whether users and this model have to take turns. Undefined: derived from the model's name. */
  readonly turns?: 'any' | 'alternating' | undefined;
}

/** Which messages may hold instructions. `none`: the user says them. */
export type SystemMessages = 'anywhere' | 'first' | 'none';

/** A catalog model, reduced to what an invocation needs. */
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
  /** Accepted kinds of input. Anything besides text that is not listed is rejected. */
  readonly inputModalities: readonly string[];
  /** Most tokens one input item can have, by kind. Undefined: it may fill the context. */
  readonly itemTokens: Readonly<Partial<Record<ItemKind, number | undefined>>>;
  /** Image pixels per token. Undefined: any image may cost the maximum. */
  readonly imagePixelsPerToken?: number | undefined;
  /** Most tokens one page of a PDF can have. Undefined: any file may cost the maximum. */
  readonly filePageTokens?: number | undefined;
}

/** Looks up models. Throws AppError model_not_found or model_not_allowed. */
export interface ModelSource {
  invocable(modelId: string, caller: Caller): InvocableModel;
}

/** One call as parsed by its route. */
export interface Invocation {
  readonly dialect: RequestDialect;
  /** The literal path, as shown in reports. */
  readonly endpoint: string;
  /** Catalog endpoints; the model must support at least one of them. */
  readonly servedBy: readonly string[];
  readonly requestId: string;
  /** The generation id (UUID text form). */
  readonly generationId: string;
  /** The generation id in its public form. */
  readonly publicId: string;
  readonly caller: Caller;
  readonly modelId: string;
  /** Models to fall back to, in this order, when `modelId` fails. */
  readonly fallbackIds: readonly string[];
  /** The request in the caller's dialect, without the members that we set ourselves. */
  readonly body: JsonObject;
  /** The original request when it came in the Responses dialect, for providers that speak it. */
  readonly native?: JsonObject | undefined;
  /** Runs work on the whole request, taking turns with other requests when it is long. */
  readonly inTurn: InTurn;
  /** Members that are not on the dialect's list, unchanged. Sent only where a provider's entry names them. */
  readonly others: JsonObject;
  /** Anthropic betas that the caller asks for and that we pass on. */
  readonly betas: readonly string[];
  /** Paths of the members that were left out. */
  readonly ignored: readonly string[];
  /** Number of inputs with a context of their own: texts to embed, documents to rank. */
  readonly inputs: number;
  /** The output cap the caller asked for, in tokens. */
  readonly maxTokens: number | undefined;
  /** Maximum cost of this call, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  readonly streamed: boolean;
  /** Whether a chat stream sends its usage in a separate chunk. */
  readonly separateUsageChunk: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: StopSignal;
  /** Called with the actual usage and cost once the call is settled. */
  readonly onSettled: (settled: SettledCall) => void;
}

/** Facts about a call whose charge is committed. */
export interface SettledCall {
  /** The model the call was charged for. */
  readonly model: string;
  readonly provider: string | undefined;
  readonly usage: TokenUsage;
  /** In nano-USD. */
  readonly charge: NanoUsd;
  /** Code of the error that ended the call. */
  readonly code: string | undefined;
}

/** The ending of a call whose charge is committed. */
export interface CallEnd {
  readonly usage: TokenUsage;
  readonly finishReason: FinishReason;
  /** The charge recorded in the ledger, in nano-USD. */
  readonly charge: NanoUsd;
  /** When it was recorded, in Unix ms. */
  readonly endedAt: number;
}

export interface InvocationSettings {
  /** Output cap, in tokens, below which it is never clamped to what the caller can afford. */
  readonly outputFloorTokens: number;
  /** How long to keep reading from a provider for its usage after the client disconnected, in ms. */
  readonly drainMs: number;
  /** Most abandoned answers per account that are still read to the end at the same time, in each process. */
  readonly drainsPerAccount: number;
  /** Amount waived per account and hour for answers that providers break off or that nobody receives, in nano-USD. */
  readonly failureAllowance: NanoUsd;
  /** Whether URLs of images and files may also begin with http://. */
  readonly httpMediaUrls: boolean;
}

export const DEFAULT_INVOCATION_SETTINGS: InvocationSettings = {
  outputFloorTokens: 16,
  drainMs: 600_000,
  drainsPerAccount: 200,
  failureAllowance: nanoUsd(100_000_000n),
  httpMediaUrls: false,
};
