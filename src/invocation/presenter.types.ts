import type { AppError } from '../lib/errors.ts';
import type { JsonObject } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import type { CallEnd } from './invocation.types.ts';

/** How an answer identifies itself, whichever provider it came from. */
export interface AnswerIdentity {
  /** Public generation id. */
  readonly id: string;
  /** Public model id. */
  readonly model: string;
  readonly createdSeconds: number;
  /** Our count of the input, shown until the provider's count is known. */
  readonly inputTokens: number;
  readonly requestId: string;
  /** Whether the request asked for thinking. The messages dialect shows none otherwise. */
  readonly thinking: boolean;
  /** For the messages dialect: maps a shortened tool name known to a chat provider to the caller's own name. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Whether the request asked for a last chunk with only usage. Otherwise chat sends usage with the finish reason. */
  readonly separateUsageChunk: boolean;
}

/** Writes one stream in the client's dialect. Each method returns whole SSE frames. */
export interface StreamPresenter {
  part(part: StreamPart): string;
  /** Returns the end of the answer, to be sent once its charge is committed. */
  ending(end: CallEnd): string;
}

/** Completes a translated answer with its usage and cost. */
export type AnswerPresenter = (end: CallEnd) => JsonObject;

/** One client dialect: how answers and failures look to the client. */
export interface DialectPresenter {
  /** Frame sent when a stream has been silent. */
  readonly keepAliveFrame: string;
  /** Translates an answer, to be sent once its charge is committed. Throws ProviderFailure for an answer that cannot be translated. */
  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity): AnswerPresenter;
  /** Opens a stream out of events in the provider's `dialect`. */
  stream(dialect: Dialect, identity: AnswerIdentity): StreamPresenter;
  /** Returns the last frame of a stream that fails after its headers were sent. */
  failure(error: AppError, identity: AnswerIdentity): string;
}
