import type { InTurn } from '../lib/event-loop-queue.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { TokenUsage } from '../lib/usage.ts';
import type { JsonObject } from './json.ts';

/** The two shapes of requests and answers: OpenAI's chat completions and Anthropic's messages. */
export type Dialect = 'chat' | 'messages';

/** What a provider is asked in. One that is asked in OpenAI's Responses is answered for in chat: its adapter translates. */
export type ProviderDialect = Dialect | 'responses';

/** What a caller may ask in. Embeddings and rerank are requests of their own, at servers that speak chat. */
export type RequestDialect = Dialect | 'embeddings' | 'rerank';

/** Why a model stopped, in one vocabulary for both dialects. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ProviderRequest {
  /** The provider's own name of the model. */
  readonly model: string;
  /** The request in the dialect that the provider is asked in; `model`, `stream` and the output cap are the adapter's to set. */
  readonly body: JsonObject;
  /** Most tokens the answer may have. */
  readonly maxOutputTokens: number;
  /** What a messages request asks for in `anthropic-beta`; other protocols have no such thing. */
  readonly betas: readonly string[];
  /** Runs the caller's blocking work in turns with that of others. */
  readonly inTurn: InTurn;
}

/** What an answer, or one event of it, says in every dialect. */
export interface Facts {
  /** Everything the customer receives as output except reasoning: text, refusals, tool names and arguments. */
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason?: FinishReason | undefined;
  /** The provider's own word for the finish, when no table knows it: for the log. */
  readonly unknownFinish?: string | undefined;
  /** Normalised and cumulative: a later report replaces an earlier one. Undefined when absent or not credible. */
  readonly usage?: TokenUsage | undefined;
  /** The input side alone (output 0), from a provider that reports it before the answer. */
  readonly inputUsage?: TokenUsage | undefined;
}

export interface ProviderAnswer extends Facts {
  /** The answer in its provider's dialect, in exact form: whatever peculiarities it came with are gone. */
  readonly wire: JsonObject;
  readonly finishReason: FinishReason;
}

export interface StreamPart extends Facts {
  /**
   * The event in its provider's dialect, in exact form. Chat: one choice of index 0 or none, a delta without role and
   * empty members, the finish once and last. Messages: an event of the protocol, the closing delta once and last.
   */
  readonly wire: JsonObject;
}

/** Parts that arrived together; what arrives together is relayed together. */
export type StreamBatch = readonly StreamPart[];

export interface Provider {
  readonly id: string;
  readonly requestDialect: ProviderDialect;
  /** Of its answers. */
  readonly dialect: Dialect;
  /** What happens upstream when the customer leaves: stop at once, or read on for the provider's own usage. */
  readonly onDisconnect: 'abort' | 'drain';
  /** The least cap of an answer that it takes, in tokens; a lower one of a caller counts as this. */
  readonly outputCapMin: number;
  /** Members of a request that are sent on though the dialect's list lacks them. */
  readonly passThrough: readonly string[];
  /** One whole answer. Throws {@link ProviderFailure}; rejects promptly when the signal aborts. */
  complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /**
   * Resolves when the first event has arrived, so that everything before it can still be retried elsewhere. The
   * iteration ends only after the provider's own end of answer; anything else throws {@link ProviderFailure}.
   */
  stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<StreamBatch>>;
  /** The vectors of an embeddings request. Throws {@link ProviderFailure}, `misconfigured` where the protocol has none. */
  embed(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /** The places of a rerank request's documents, the best first. Throws as {@link Provider.embed} does. */
  rerank(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer>;
  /**
   * A small request of our own that costs nothing. Throws {@link ProviderFailure} when nobody answers or the server says that it
   * cannot serve; any other answer is a sign of life.
   */
  probe(signal: StopSignal): Promise<void>;
  /** Closes the connections. Calls in flight fail. */
  close(): Promise<void>;
}
