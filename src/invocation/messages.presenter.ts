import { eventFrame } from '../http/answers/sse.ts';
import type { AppError } from '../lib/errors.ts';
import { merged } from '../lib/merged.ts';
import { NO_USAGE } from '../lib/usage.ts';
import { isCut, readFinish } from '../providers/finish-reasons.ts';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { chatAnswerToMessages } from './dialects/chat-answer-to-messages.ts';
import { createChatToMessages, type StreamTranslator } from './dialects/chat-stream-to-messages.ts';
import { stopReasonOf } from './dialects/stop-reason.ts';
import type { CallEnd } from './invocation.types.ts';
import type {
  AnswerIdentity,
  AnswerPresenter,
  DialectPresenter,
  StreamPresenter,
} from './presenter.types.ts';
import { presentAnthropicInput, presentMessagesUsage } from './usage.presenter.ts';

/** Presents answers in Anthropic's messages dialect. */
export const messagesPresenter: DialectPresenter = {
  keepAliveFrame: eventFrame({ type: 'ping' }, 'ping'),
  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity): AnswerPresenter {
    const wire = dialect === 'messages' ? answer.wire : chatAnswerToMessages(answer.wire, identity);
    const { id, model } = identity;
    const told = merged(wire, { id, type: 'message', role: 'assistant', model });
    return (end) => Object.assign(told, { usage: presentMessagesUsage(end) });
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
  readonly #translate: StreamTranslator;
  /** Index of the open content block. */
  #openBlock: unknown;
  #begun = false;
  /** The provider's closing delta, held back until the charge is committed. */
  #closing: JsonObject = {};

  constructor(dialect: Dialect, identity: AnswerIdentity) {
    this.#identity = identity;
    this.#translate = dialect === 'messages' ? createMessagesCheck() : createChatToMessages(identity);
  }

  part(part: StreamPart): string {
    // before the translation, which may produce nothing for the first part
    const opening = this.#begun ? '' : this.#start(part);
    let frames = opening;
    for (const event of this.#translate(part.wire)) {
      frames += this.#event(event);
    }
    return frames;
  }

  ending(end: CallEnd): string {
    const reason = { stop_reason: stopReasonOf(end.finishReason, null), stop_sequence: null };
    const delta = merged(reason, objectOf(this.#closing.delta));
    const usage = presentMessagesUsage(end);
    const stop =
      this.#openBlock === undefined ? '' : frame({ type: 'content_block_stop', index: this.#openBlock });
    const opening = this.#begun ? '' : this.#start(undefined);
    const last = frame(merged(this.#closing, { type: 'message_delta', delta, usage }));
    return `${opening}${stop}${last}${frame({ type: 'message_stop' })}`;
  }

  #event(event: JsonObject): string {
    switch (event.type) {
      case 'message_start':
        return '';
      case 'content_block_start':
        this.#openBlock = event.index;
        return frame(event);
      case 'content_block_stop':
        this.#openBlock = undefined;
        return frame(event);
      case 'message_delta':
        this.#closing = event;
        return '';
      default:
        return frame(event);
    }
  }

  #start(part: StreamPart | undefined): string {
    this.#begun = true;
    const { id, model, inputTokens } = this.#identity;
    const usage = presentAnthropicInput(part?.inputUsage ?? { ...NO_USAGE, inputTokens });
    const shell = { stop_reason: null, stop_sequence: null, content: [] };
    const own = part?.wire.type === 'message_start' ? objectOf(part.wire.message) : {};
    return frame({
      type: 'message_start',
      message: merged(merged(shell, own), { id, type: 'message', role: 'assistant', model, usage }),
    });
  }
}

function frame(event: JsonObject): string {
  return eventFrame(event, String(event.type));
}

/**
 * Passes exact message events on to clients of the same dialect. Throws {@link ProviderFailure} `malformed` when the input of a tool call
 * ends without forming a JSON object, unless the answer was cut: clients' libraries fail with errors of their own at the end of
 * such a block, or run the tool with a part of its input.
 */
function createMessagesCheck(): StreamTranslator {
  let pieces: string[] = [];
  let stop: JsonObject | undefined;
  return (event) => {
    const held = stop === undefined ? [] : [stop];
    const wasCut =
      event.type === 'message_delta' && isCut(readFinish(objectOf(event.delta).stop_reason)?.reason);
    if (stop !== undefined && !wasCut) {
      throw new ProviderFailure('malformed');
    }
    stop = undefined;
    if (event.type === 'content_block_start') {
      pieces = [];
    } else if (event.type === 'content_block_delta') {
      const piece = textOf(objectOf(event.delta).partial_json);
      if (piece !== '') {
        pieces.push(piece);
      }
    } else if (event.type === 'content_block_stop' && !isInput(pieces.join(''))) {
      stop = event;
      return [];
    }
    return [...held, event];
  };
}

function isInput(text: string): boolean {
  return text === '' || isObject(parseJson(text));
}
