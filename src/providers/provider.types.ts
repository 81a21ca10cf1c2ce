import type { InTurn } from '../lib/event-loop-queue.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { ReportedUsage } from '../lib/usage.ts';
import type { JsonObject } from './json.ts';
import type { KnownMembers } from './known-members.ts';

/** The two formats of requests and answers: OpenAI's chat completions and Anthropic's messages. */
export type Dialect = 'chat' | 'messages';

/** The format of requests to a provider. One that takes OpenAI's Responses still returns chat answers: its adapter translates. */
export type ProviderDialect = Dialect | 'responses';

/** The formats callers may use. Embeddings and rerank are separate requests to servers that speak chat. */
export type RequestDialect = Dialect | 'embeddings' | 'rerank';

/** Why a model stopped, in one vocabulary for both dialects. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ProviderRequest {
  /** The provider's own name for the model. */
  readonly model: string;
  /** The request in the provider's request dialect. The adapter sets `model`, `stream` and the output cap. */
  readonly body: JsonObject;
  /** Maximum tokens of the answer. */
  readonly maxOutputTokens: number;
  /** Whether the model may reason before it answers. */
  readonly reasons: boolean;
  /** Values of `anthropic-beta` for a messages request; empty for other protocols. */
  readonly betas: readonly string[];
  /** Runs the caller's blocking work in turns with that of other callers. */
  readonly inTurn: InTurn;
  /** Called with the paths of optional members that the server rejected by name, once it has accepted the request without them. */
  readonly onLeftOut: (paths: readonly string[]) => void;
}

/** The dialect-independent content of an answer or of one event of it. */
export interface Facts {
  /** All output the customer receives except reasoning: text, refusals, tool names and arguments. */
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason?: FinishReason | undefined;
  /** The provider's finish reason if no table has it, for the log. */
  readonly unknownFinish?: string | undefined;
  /** Normalized and cumulative: a later report replaces an earlier one. Undefined when absent. */
  readonly usage?: ReportedUsage | undefined;
  /** The input usage alone (output 0), from a provider that reports it before the answer. */
  readonly inputUsage?: ReportedUsage | undefined;
}

export interface ProviderAnswer extends Facts {
  /** The normalized answer in the provider's dialect, without the server's peculiarities. */
  readonly wire: JsonObject;
  readonly finishReason: FinishReason;
}

export interface StreamPart extends Facts {
  /**
   * The normalized event in the provider's dialect. Chat: no choice or one of index 0, a delta without role and empty
   * members, the finish reason once and last. Messages: an event of the protocol, the closing delta once and last.
   */
  readonly wire: JsonObject;
}

/** Parts that arrived together and are relayed together. */
export type StreamBatch = readonly StreamPart[];

/** How a provider caps thinking apart from the answer. */
export interface ThinkingCap {
  /** Models that take a thinking budget there and think unless they are told not to, or always. */
  readonly thinks: RegExp;
  /** The budgets that it accepts, in tokens. */
  readonly least: number;
  readonly most: number;
  /** Whether a request may force the use of tools, or an answer in JSON, while the model thinks. */
  readonly forcesThinkers: boolean;
}

export interface Provider {
  readonly id: string;
  readonly requestDialect: ProviderDialect;
  /** Dialect of its answers. */
  readonly dialect: Dialect;
  /** What happens upstream when the customer disconnects: stop at once, or read to the end for the provider's usage report. */
  readonly onDisconnect: 'abort' | 'drain';
  /** Lowest output cap it accepts, in tokens. A caller's lower cap is raised to this. */
  readonly outputCapMin: number;
  /** Request members that are passed on although they are not in the dialect's list. */
  readonly passThrough: readonly string[];
  /** How it caps thinking apart from the answer. Absent if one cap covers both. */
  readonly thinkingCap?: ThinkingCap | undefined;
  /** The only members of requests that its server accepts. Absent if it ignores the others. */
  readonly knownMembers?: KnownMembers | undefined;
  /** Returns one whole answer. Throws {@link ProviderFailure}; rejects promptly when the signal aborts. */
  complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /**
   * Resolves when the first event has arrived, so that any earlier failure can still be retried elsewhere. The
   * iteration ends only after the provider has marked the end of the answer; anything else throws {@link ProviderFailure}.
   */
  stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<StreamBatch>>;
  /** Returns the vectors for an embeddings request. Throws {@link ProviderFailure}, `misconfigured` if the protocol has no embeddings. */
  embed(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /** Returns the indexes of a rerank request's documents, best first. Throws as {@link Provider.embed} does. */
  rerank(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /**
   * Sends a small request that costs nothing. Throws {@link ProviderFailure} if there is no response or the server says that it
   * cannot serve; any other response is a sign of life.
   */
  probe(signal: StopSignal): Promise<void>;
  /** Closes the connections. Calls in flight fail. */
  close(): Promise<void>;
}
