import { eventFrame } from '../http/sse.ts';
import type { AppError } from '../lib/errors.ts';
import { NO_USAGE } from '../lib/usage.ts';
import { type JsonObject, objectOf, without } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import { chatAnswerToMessages } from './dialects/chat-answer-to-messages.ts';
import { createChatToMessages } from './dialects/chat-stream-to-messages.ts';
import { stopReasonOf } from './dialects/stop-reason.ts';
import type { CallEnd } from './invocation.types.ts';
import type { AnswerIdentity, DialectPresenter, StreamPresenter } from './presenter.types.ts';
import { presentMessagesUsage } from './usage.presenter.ts';

/** Answers in Anthropic's messages dialect. */
export const messagesPresenter: DialectPresenter = {
  keepAliveFrame: eventFrame({ type: 'ping' }, 'ping'),
  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity, end: CallEnd): JsonObject {
    const wire = dialect === 'messages' ? answer.wire : chatAnswerToMessages(answer.wire);
    const { id, model } = identity;
    return { ...wire, id, type: 'message', role: 'assistant', model, usage: presentMessagesUsage(end.usage) };
  },
  stream: (dialect, identity) => new MessagesStream(dialect, identity),
  failure(error: AppError, identity: AnswerIdentity): string {
    const { code, message, type } = error;
    const body = { type: 'error', error: { code, message, type }, request_id: identity.requestId };
    return eventFrame(body, 'error');
  },
};

class MessagesStream implements StreamPresenter {
  readonly #identity: AnswerIdentity;
  readonly #translate: (event: JsonObject) => readonly JsonObject[];
  /** Index of the content block that is open. */
  #openBlock: unknown;
  #begun = false;
  /** The provider's closing delta, kept back until the charge is committed. */
  #closing: JsonObject = {};

  constructor(dialect: Dialect, identity: AnswerIdentity) {
    this.#identity = identity;
    this.#translate = dialect === 'messages' ? (event) => [event] : createChatToMessages();
  }

  part(part: StreamPart): string {
    return this.#translate(part.wire)
      .map((event) => this.#event(event, part))
      .join('');
  }

  ending(end: CallEnd): string {
    const reason = { stop_reason: stopReasonOf(end.finishReason, null), stop_sequence: null };
    const closing = without(this.#closing, 'usage');
    const delta = { ...reason, ...objectOf(closing.delta) };
    const usage = presentMessagesUsage(end.usage);
    const stop =
      this.#openBlock === undefined ? '' : frame({ type: 'content_block_stop', index: this.#openBlock });
    const opening = this.#begun ? '' : this.#start({}, undefined);
    const last = frame({ ...closing, type: 'message_delta', delta, usage });
    return `${opening}${stop}${last}${frame({ type: 'message_stop' })}`;
  }

  #event(event: JsonObject, part: StreamPart): string {
    switch (event.type) {
      case 'message_start':
        return this.#start(objectOf(event.message), part);
      case 'content_block_start':
        this.#openBlock = event.index;
        return frame(event);
      case 'content_block_stop':
        this.#openBlock = undefined;
        return frame(event);
      case 'message_delta':
        this.#closing = event;
        return '';
      case 'message_stop':
        return '';
      default:
        return frame(event);
    }
  }

  #start(message: JsonObject, part: StreamPart | undefined): string {
    this.#begun = true;
    const { id, model, inputTokens } = this.#identity;
    const usage = presentMessagesUsage(part?.inputUsage ?? { ...NO_USAGE, inputTokens });
    const shell = { stop_reason: null, stop_sequence: null, content: [], ...message };
    return frame({
      type: 'message_start',
      message: { ...shell, id, type: 'message', role: 'assistant', model, usage },
    });
  }
}

function frame(event: JsonObject): string {
  return eventFrame(event, String(event.type));
}
