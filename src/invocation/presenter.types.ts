import type { AppError } from '../lib/errors.ts';
import type { JsonObject } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import type { CallEnd } from './invocation.types.ts';

/** What an answer says about itself, for every provider. */
export interface AnswerIdentity {
  /** Public generation id. */
  readonly id: string;
  /** Public model id. */
  readonly model: string;
  readonly createdSeconds: number;
  /** Our count of the input, shown until the provider's is known. */
  readonly inputTokens: number;
  readonly requestId: string;
  /** Whether the request asked for thinking: on messages none is shown otherwise. */
  readonly thinking: boolean;
  /** On messages, the names of tools that a chat provider knows by a shorter one, by that. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Whether the request asked for a last chunk with nothing but usage: on chat it rides on the finish otherwise. */
  readonly usageApart: boolean;
}

/** Writes one stream in the client's dialect. Each method returns whole SSE frames. */
export interface StreamPresenter {
  part(part: StreamPart): string;
  /** The end of the answer, to be sent once its charge is committed. */
  ending(end: CallEnd): string;
}

/** Tells a translated answer with what it cost. */
export type AnswerPresenter = (end: CallEnd) => JsonObject;

/** One client dialect: how answers and failures look to the client. */
export interface DialectPresenter {
  /** Sent when a stream has been silent. */
  readonly keepAliveFrame: string;
  /** Translates an answer, to be told once its charge is committed. Throws ProviderFailure for what cannot be told. */
  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity): AnswerPresenter;
  /** Opens a stream out of events in the provider's `dialect`. */
  stream(dialect: Dialect, identity: AnswerIdentity): StreamPresenter;
  /** The last frame of a stream that fails after its headers are out. */
  failure(error: AppError, identity: AnswerIdentity): string;
}
